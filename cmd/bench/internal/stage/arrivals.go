package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"integrationhub/cmd/bench/internal/hubapi"
	"integrationhub/cmd/bench/internal/receiver"
	"integrationhub/cmd/bench/internal/reconcile"
	"integrationhub/cmd/bench/internal/records"
)

// StallTimeout is how long nothing may arrive before the rest counts as missing. It is
// longer than the longest pause between two attempts.
const StallTimeout = 40 * time.Second

// AwaitArrivals waits until every promised delivery has arrived, or nothing has arrived
// for StallTimeout. It returns the balance and the record behind it.
func (st *Stage) AwaitArrivals(ctx context.Context, sent []records.Sent) (*reconcile.Balance, []records.Arrival, error) {
	return st.AwaitArrivalsFrom(ctx, sent, 0)
}

// AwaitArrivalsFrom is [Stage.AwaitArrivals] without what arrived at endpoints below a
// number.
func (st *Stage) AwaitArrivalsFrom(ctx context.Context, sent []records.Sent, endpoint uint32) (*reconcile.Balance, []records.Arrival, error) {
	expected := int64(0)
	for _, s := range sent {
		if s.Accepted() {
			expected += int64(s.Deliveries)
		}
	}
	attempts, since := int64(-1), time.Now()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := st.count(ctx)
		if err != nil {
			return nil, nil, err
		}
		if c.Attempts != attempts {
			attempts, since = c.Attempts, time.Now()
		}
		stalled := time.Since(since) > StallTimeout
		if c.Delivered >= expected || stalled {
			arrivals, err := st.arrivals(ctx)
			if err != nil {
				return nil, nil, err
			}
			arrivals = slices.DeleteFunc(arrivals, func(a records.Arrival) bool { return a.Endpoint < endpoint })
			if balance := reconcile.Compare(sent, arrivals); balance.Lost == 0 || stalled {
				return balance, arrivals, nil
			}
		}
		select {
		case <-tick.C:
		case <-st.Process.Exited():
			return nil, nil, st.Process.WithLog(errors.New("it ended during the measurement"))
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// AwaitLog waits until the service's own log is complete: writing it is part of the
// measured work.
func (st *Stage) AwaitLog(ctx context.Context) error {
	c, err := st.count(ctx)
	if err != nil {
		return err
	}
	return st.Process.WaitUntil(ctx, StallTimeout, func() error { return st.Service.CheckLogComplete(ctx, int(c.Attempts)) })
}

// control calls the receiver's control routes; with a body it is a POST.
func (st *Stage) control(ctx context.Context, path string, body []byte) ([]byte, error) {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, st.receiverURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making request: %w", err)
	}
	resp, err := hubapi.HTTPClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("calling the receiver: %w", err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the receiver's response: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("calling the receiver: %s %s: %s", path, resp.Status, raw)
	}
	return raw, nil
}

// count fetches the receiver's counters.
func (st *Stage) count(ctx context.Context) (receiver.Count, error) {
	var c receiver.Count
	raw, err := st.control(ctx, "/control/count", nil)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("reading the receiver's count: %w", err)
	}
	return c, nil
}

// arrivals fetches the receiver's record of requests.
func (st *Stage) arrivals(ctx context.Context) ([]records.Arrival, error) {
	raw, err := st.control(ctx, "/control/record", nil)
	if err != nil {
		return nil, err
	}
	return records.Read[records.Arrival](raw)
}
