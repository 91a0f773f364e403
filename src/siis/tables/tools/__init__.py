"""Files of labelling tools: read as columns and answers of annotators, and written again with our answers."""
