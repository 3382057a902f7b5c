// Package booking holds the rules of the scheduling service: which slots are
// free, how an appointment moves through its states, what money and points come
// to. It is pure: no I/O, no clock of its own, no database; whoever calls it
// brings the rows and the time.
package booking
