package delivery

// Status is the state of a delivery; the numbers are the database's.
type Status int16

// The four states of a delivery.
const (
	Pending   Status = 0
	Delivered Status = 1
	Parked    Status = 2
	Failed    Status = 3
)

var statusNames = [...]string{"pending", "delivered", "parked", "failed"}

// String returns the name that the API uses.
func (s Status) String() string { return statusNames[s] }

// ParseStatus reads the API's name of a status.
func ParseStatus(name string) (Status, bool) {
	for i, statusName := range statusNames {
		if statusName == name {
			return Status(i), true
		}
	}
	return 0, false
}
