package sandbox

// LIDOf returns the LID of a number.
var LIDOf = lidOf
