package chat

import "time"

// LoadZone returns a time zone by its stored IANA name. A name that this machine's data does
// not have is UTC.
func LoadZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
