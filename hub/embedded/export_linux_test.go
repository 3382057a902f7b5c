package embedded

// IsStartedOn reports whether the arguments of a server name a data directory.
var IsStartedOn = isStartedOn
