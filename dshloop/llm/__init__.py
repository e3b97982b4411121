"""The language of models: messages, stream chunks and the adapters that produce them."""
