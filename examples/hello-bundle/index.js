// The plugin behind the row `hello`. DSH calls apply() with the row's config when it boots.
export const name = 'hello'

export function apply(ctx, config) {
  console.error(`${config.greeting} from hello-bundle`)
}
