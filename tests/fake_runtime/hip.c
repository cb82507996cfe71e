// Stands in for libamdhip64: only its file name matters.
int fake_hip(void) { return 1; }
