// Package booking holds the rules of the scheduling service: free slots, the states
// of appointments, deposits, amounts and loyalty points. It is pure: no I/O, no
// clock and no database. Callers pass the rows and the time.
package booking
