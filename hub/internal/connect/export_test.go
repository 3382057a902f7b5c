package connect

// Wins is the decision between secrets of two handshakes.
var Wins = wins
