"""What a run is asked, opened and talked to with."""
