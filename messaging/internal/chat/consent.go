package chat

// Whether a contact wants campaigns.
const (
	ConsentUnknown  = "unknown"
	ConsentOptedIn  = "opted_in"
	ConsentOptedOut = "opted_out"
)
