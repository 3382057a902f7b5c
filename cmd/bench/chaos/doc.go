// Package chaos has tests only: they break the hub, its database, its Redis, its clock and
// its receivers under load, and check that no accepted event is lost.
package chaos
