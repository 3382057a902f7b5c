package delivery

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub/hubtest"
)

var judged = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func answer(status int, retryAfter string) Response {
	return Response{Status: status, Complete: true, RetryAfter: retryAfter}
}

func TestDecideRetriesAfter1And5And25SecondsThenParks(t *testing.T) {
	t.Parallel()
	for _, o := range []Response{{}, {Status: 200}, answer(500, ""), answer(302, ""), answer(404, ""), answer(429, ""), answer(503, "soon")} {
		for countedAttempts, wait := range []time.Duration{time.Second, 5 * time.Second, 25 * time.Second} {
			require.Equal(t, Decision{Status: Pending, Wait: wait, CountedAttempts: countedAttempts + 1}, Decide(o, countedAttempts, judged, judged), o)
		}
		require.Equal(t, Decision{Status: Parked, CountedAttempts: 4, Reason: ReasonRetriesExhausted}, Decide(o, 3, judged, judged), o)
	}
}

func TestDecideSuccess(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 201, 204, 299} {
		require.Equal(t, Decision{Status: Delivered, CountedAttempts: 3, Healthy: true}, Decide(answer(status, ""), 2, judged, judged))
	}
}

func TestDecideGoneDisables(t *testing.T) {
	t.Parallel()
	for _, response := range []Response{answer(410, ""), {Status: 410}} {
		require.Equal(t, Decision{Status: Parked, CountedAttempts: 1, Reason: ReasonGone, DisableEndpoint: true, Healthy: true}, Decide(response, 0, judged, judged))
	}
}

func TestDecideRetryAfterUsesUpNoAttempt(t *testing.T) {
	t.Parallel()
	for retryAfter, wait := range map[string]time.Duration{
		"7":                       7 * time.Second,
		"0":                       time.Second,
		" 30 ":                    30 * time.Second,
		"3600":                    time.Hour,
		"7200":                    time.Hour,
		"99999999999999999999999": time.Hour,
		judged.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		judged.Add(-time.Hour).Format(http.TimeFormat):       time.Second,
	} {
		for _, status := range []int{429, 503} {
			require.Equal(t, Decision{Status: Pending, Wait: wait, CountedAttempts: 3, Healthy: true}, Decide(answer(status, retryAfter), 3, judged, judged), retryAfter)
		}
	}
	require.Equal(t, Pending, Decide(answer(429, "60"), 0, judged.Add(-24*time.Hour+time.Minute), judged).Status)
	require.Equal(t, Decision{Status: Parked, Reason: ReasonDeferredTooLong, Healthy: true}, Decide(answer(429, "61"), 0, judged.Add(-24*time.Hour+time.Minute), judged))
	require.Equal(t, Decision{Status: Pending, Wait: time.Second, CountedAttempts: 1}, Decide(answer(500, "60"), 0, judged, judged))
}

// A receiver that always asks for a moment is asked ever more rarely: a few events with it
// neither keep the hub busy nor fill the log. What it asks for at first is what it gets.
func TestDecideAsksEverMoreRarely(t *testing.T) {
	t.Parallel()
	for _, retryAfter := range []string{"0", "1", judged.Add(-time.Hour).Format(http.TimeFormat)} {
		clock, asked := hubtest.NewClock(judged), 0
		var waits []time.Duration
		for {
			decision := Decide(answer(http.StatusTooManyRequests, retryAfter), 0, judged, clock.Now())
			asked++
			if decision.Status == Parked {
				break
			}
			waits = append(waits, decision.Wait)
			clock.Advance(decision.Wait)
		}
		require.Less(t, asked, 100, retryAfter)
		require.Equal(t, []time.Duration{time.Second, time.Second, time.Second}, waits[:3])
		require.IsNonDecreasing(t, waits[:len(waits)-20])
		require.Greater(t, clock.Now().Sub(judged), 23*time.Hour)
	}
	require.Equal(t, 30*time.Second, Decide(answer(503, "30"), 0, judged, judged.Add(4*time.Minute)).Wait, "an eighth of the time is less")
	require.Equal(t, time.Minute, Decide(answer(503, "30"), 0, judged, judged.Add(8*time.Minute)).Wait)
}

// A peer that asks for an hour each time is asked 25 times in its 24 hours; nothing
// is used up, and a failure in between neither restarts nor ends the day.
func TestDecidePutsOffForADayByTheClock(t *testing.T) {
	t.Parallel()
	clock, countedAttempts, asked := hubtest.NewClock(judged), 0, 0
	for {
		status := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[asked%2]
		verdict := Decide(answer(status, "7200"), countedAttempts, judged, clock.Now())
		asked++
		require.Equal(t, countedAttempts, verdict.CountedAttempts)
		if verdict.Status == Parked {
			require.Equal(t, ReasonDeferredTooLong, verdict.Reason)
			break
		}
		require.Equal(t, Decision{Status: Pending, Wait: time.Hour, CountedAttempts: countedAttempts, Healthy: true}, verdict, "at most an hour is honoured")
		clock.Advance(verdict.Wait)
		if asked == 12 {
			countedAttempts = Decide(answer(500, ""), countedAttempts, judged, clock.Now()).CountedAttempts
		}
	}
	require.Equal(t, 25, asked)
	require.Equal(t, 24*time.Hour, clock.Now().Sub(judged))
	require.Equal(t, 1, countedAttempts)
}
