"""Every table and figure of the paper's section "Experimental Results"."""
