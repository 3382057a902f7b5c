package server

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"integrationhub/hub/internal/ledger/query"
	"integrationhub/hub/module/dberr"
)

// Limits of the doctor's statements about one day of the log.
const (
	openDayTimeout = "30s"
	anyDayTimeout  = "15min"
)

// logCheck compares what was accepted with what is in the log: deliveries, their events and
// their attempts. None may be missing.
type logCheck struct {
	reader *query.Reader
	report func(Finding)
	total  query.Balance
	gaps   query.Gaps
	broken bool // a day does not balance
}

// checkLog counts the rows of today and yesterday, and with full those of every day. For
// the days before it compares the statistics with what waits.
func checkLog(ctx context.Context, db *pgxpool.Pool, full bool, report func(Finding)) {
	c := &logCheck{reader: query.NewReader(db), report: report}
	if err := c.run(ctx, full); err != nil {
		finding := Finding{"sum", FindingFailed, err.Error(), ""}
		if dberr.Code(err) == dberr.QueryCanceled && !full {
			finding = Finding{"sum", FindingWarning, "the last two days are too large to count in " + openDayTimeout, "run: hub doctor --full (" + anyDayTimeout + " for each day)"}
		}
		report(finding)
	}
}

func (c *logCheck) run(ctx context.Context, full bool) error {
	days, err := c.reader.Days(ctx)
	if err != nil || len(days) == 0 {
		return err
	}
	counted := days[0]
	if today := time.Now().UTC().Truncate(24 * time.Hour); !full && counted.Before(today.AddDate(0, 0, -1)) {
		counted = today.AddDate(0, 0, -1)
	}
	for _, day := range days {
		if day.Before(counted) {
			continue
		}
		if err := c.checkDay(ctx, day); err != nil {
			return err
		}
	}
	before, err := c.reader.BalanceBefore(ctx, days[0], counted)
	if err != nil {
		return err
	}
	c.reportSums(counted, before)
	return nil
}

// checkDay counts the rows of a day and reports what is missing.
func (c *logCheck) checkDay(ctx context.Context, day time.Time) error {
	balance, err := c.reader.DayBalance(ctx, day)
	if err != nil {
		return err
	}
	gaps, err := c.reader.DayGaps(ctx, day)
	if err != nil {
		return err
	}
	date := day.Format(time.DateOnly)
	if !balance.IsBalanced() {
		c.broken = true
		c.report(Finding{"sum", FindingFailed, date + ": " + balance.String(), "please report this as a defect, with the hub's log of that day"})
	}
	if gaps.Events > 0 {
		c.report(Finding{"events", FindingFailed, fmt.Sprintf("%s: %d events of %d deliveries are missing; %d of these wait and will fail with reason payload_missing", date, gaps.Events, gaps.Deliveries, gaps.Waiting),
			"restore the rows of hub.events from a backup; deliveries that failed can be retried then"})
	}
	if gaps.Attempts > 0 {
		c.report(Finding{"attempts", FindingFailed, fmt.Sprintf("%s: %d attempts are missing", date, gaps.Attempts), "restore the rows of hub.attempts from a backup; nothing else depends on them"})
	}
	c.total.Add(balance)
	c.gaps.Events += gaps.Events
	c.gaps.Attempts += gaps.Attempts
	return nil
}

// reportSums reports what holds. counted is the first day whose rows were counted.
func (c *logCheck) reportSums(counted time.Time, before query.Balance) {
	if before.Parked+before.Pending > before.Accepted {
		c.broken = true
		c.report(Finding{"sum", FindingFailed, fmt.Sprintf("before %s: accepted %d < parked %d + pending %d", counted.Format(time.DateOnly), before.Accepted, before.Parked, before.Pending),
			"run: hub doctor --full"})
	}
	since := ""
	if before.Accepted > 0 {
		since = " since " + counted.Format(time.DateOnly)
	}
	if !c.broken {
		detail := c.total.String() + since
		if before.Accepted > 0 {
			detail += fmt.Sprintf("; before, accepted %d, of which parked %d + pending %d (--full counts the others)", before.Accepted, before.Parked, before.Pending)
		}
		c.report(Finding{"sum", FindingOK, detail, ""})
	}
	if c.gaps.Events == 0 {
		c.report(Finding{"events", FindingOK, "every delivery" + since + " has its event", ""})
	}
	if c.gaps.Attempts == 0 {
		c.report(Finding{"attempts", FindingOK, "none is missing" + since, ""})
	}
}
