"""From files to answers: the job, its report, the review and the command line."""
