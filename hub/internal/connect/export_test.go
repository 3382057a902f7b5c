package connect

// WinsOver exports the decision between the secrets of two handshakes.
var WinsOver = winsOver
