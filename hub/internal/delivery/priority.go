package delivery

import (
	"strings"

	"github.com/google/uuid"

	"integrationhub/hub"
)

// A lane sends what has a high priority first, then normal deliveries, then bulk. So that
// bulk is sent at all beside a stream of others, one attempt in bulkTurn is a bulk one, and
// beside high ones alone one in highBulkTurn.
const (
	bulkTurn     = 10
	highBulkTurn = 100
	// A lane's places for bulk: half as many as it has for others, but one in bulkTurn
	// while others wait: no more than may be attempted while the leases are young.
	bulkDivisor   = 2
	maxHighPlaces = 16 // of one lane, that wait beyond its capacity
)

// priorityCount is the number of priorities.
const priorityCount = int(hub.PriorityBulk-hub.PriorityHigh) + 1

// rank returns the index of a priority: what has a smaller one goes first.
func rank(p hub.Priority) int { return int(p - hub.PriorityHigh) }

// claimOrder is the order in which priorities get a lane's places. The few places of bulk
// come before those of normal deliveries, which could take them all.
var claimOrder = [priorityCount]hub.Priority{hub.PriorityHigh, hub.PriorityBulk, hub.PriorityNormal}

// prioritySet is a set of priorities.
type prioritySet uint8

// allPriorities is the set of all.
const allPriorities prioritySet = 1<<priorityCount - 1

func setOf(p hub.Priority) prioritySet { return 1 << rank(p) }

func (s prioritySet) has(p hub.Priority) bool { return s&setOf(p) != 0 }

// FormatDue returns the payload of the notification that a target has due deliveries of a
// priority. That of normal ones is the target's id alone.
func FormatDue(target uuid.UUID, p hub.Priority) string {
	if p == hub.PriorityNormal {
		return target.String()
	}
	return target.String() + " " + p.String()
}

// parseDue reads the payload of a notification. What another version of the hub wrote is of
// any priority.
func parseDue(payload string) (target uuid.UUID, priorities prioritySet, ok bool) {
	id, name, _ := strings.Cut(payload, " ")
	target, err := uuid.Parse(id)
	switch name {
	case "":
		priorities = setOf(hub.PriorityNormal)
	case hub.PriorityHigh.String():
		priorities = setOf(hub.PriorityHigh)
	case hub.PriorityBulk.String():
		priorities = setOf(hub.PriorityBulk)
	default:
		priorities = allPriorities
	}
	return target, priorities, err == nil
}

// occupied returns how many deliveries of a priority wait, and places reserved for such.
func (l *lane) occupied(p hub.Priority) int {
	return l.queues[rank(p)].len() + l.reserved[rank(p)]
}

// aheadOfBulk returns how many deliveries wait that go before bulk, and places reserved for
// normal ones. Few of the places reserved for high ones are needed.
func (l *lane) aheadOfBulk() int {
	return l.queues[rank(hub.PriorityHigh)].len() + l.occupied(hub.PriorityNormal)
}

// freeCapacity returns how many more deliveries of a priority may be taken. Bulk takes none
// of the others' places, so that these are claimed whatever bulk waits.
func (l *lane) freeCapacity(concurrency int, p hub.Priority) int {
	free := l.capacity(concurrency) - l.aheadOfBulk()
	switch p {
	case hub.PriorityHigh:
		return max(free-l.reserved[rank(p)], maxHighPlaces-l.occupied(p))
	case hub.PriorityBulk:
		return l.bulkCapacity(concurrency) - l.occupied(hub.PriorityBulk)
	default:
		return free
	}
}

// bulkCapacity returns how many bulk deliveries may wait.
func (l *lane) bulkCapacity(concurrency int) int {
	divisor := bulkDivisor
	if l.aheadOfBulk() > 0 || l.backlog&^setOf(hub.PriorityBulk) != 0 {
		divisor = bulkTurn
	}
	return max(1, l.capacity(concurrency)/divisor)
}

// isLow reports whether a lane with a backlog has come to the point where it claims more:
// half of the places of a priority are free.
func (l *lane) isLow(concurrency int) bool {
	if l.waiting() == 0 {
		return true
	}
	if l.backlog&^setOf(hub.PriorityBulk) != 0 && 2*l.freeCapacity(concurrency, hub.PriorityNormal) >= l.capacity(concurrency) {
		return true
	}
	if l.backlog.has(hub.PriorityHigh) && 2*l.occupied(hub.PriorityHigh) < maxHighPlaces {
		return true
	}
	return l.backlog.has(hub.PriorityBulk) && 2*l.freeCapacity(concurrency, hub.PriorityBulk) >= l.bulkCapacity(concurrency)
}

// nextRank returns the rank of the delivery that is sent next.
func (l *lane) nextRank() int {
	high, normal, bulk := rank(hub.PriorityHigh), rank(hub.PriorityNormal), rank(hub.PriorityBulk)
	next := normal
	if l.queues[high].len() > 0 {
		next = high
	}
	if l.queues[bulk].len() == 0 {
		return next
	}
	turn := bulkTurn
	if next == high {
		turn = highBulkTurn
	}
	if l.queues[next].len() == 0 || l.sinceBulk >= turn-1 {
		l.sinceBulk = 0
		return bulk
	}
	l.sinceBulk++
	return next
}
