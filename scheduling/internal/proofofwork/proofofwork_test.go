package proofofwork_test

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"integrationhub/hub"
	"integrationhub/scheduling/internal/proofofwork"
)

var (
	key = []byte("0123456789abcdef0123456789abcdef")
	now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
)

// changed is an answer with other members.
func changed(t *testing.T, answer string, change map[string]any) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(answer)
	require.NoError(t, err)
	var members map[string]any
	require.NoError(t, json.Unmarshal(raw, &members))
	for name, value := range change {
		members[name] = value
	}
	raw, err = json.Marshal(members)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(raw)
}

func TestSolvedChallengesVerify(t *testing.T) {
	t.Parallel()
	challenge := proofofwork.New(key, []byte("sixteen bytes or"), 4321, now.Add(time.Hour))
	require.Equal(t, proofofwork.MaxNumber, challenge.MaxNumber)
	answer, ok := challenge.Solve()
	require.True(t, ok)
	solved, err := proofofwork.Verify(key, answer, now.Add(time.Hour-time.Second))
	require.NoError(t, err)
	require.Equal(t, challenge.Challenge, solved.Challenge)
	require.True(t, solved.Expires.Equal(now.Add(time.Hour)))
	other := proofofwork.New(key, []byte("others, as many "), 4321, now.Add(time.Hour))
	require.NotEqual(t, challenge.Challenge, other.Challenge)

	refused := func(key []byte, answer string, at time.Time) {
		t.Helper()
		_, err := proofofwork.Verify(key, answer, at)
		require.ErrorIs(t, err, hub.ErrInvalid)
	}
	refused(key, answer, now.Add(time.Hour))
	refused([]byte("another"), answer, now)
	for _, bad := range []string{"", "x", "e30=", answer + "A", strings.Repeat("A", 4000)} {
		refused(key, bad, now)
	}
	// Digits of the number cannot make the challenge last longer.
	later := "?expires=" + strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
	for _, change := range []map[string]any{
		{"number": 4322}, {"number": -1}, {"number": 1.5}, {"algorithm": "MD5"}, {"salt": challenge.Salt[:len(challenge.Salt)-1]}, {"salt": strings.Replace(challenge.Salt, later, later+"0", 1)},
		{"salt": challenge.Salt + "4", "number": 321}, {"salt": challenge.Salt + "4&", "number": 321}, {"salt": other.Salt}, {"signature": other.Signature}, {"challenge": other.Challenge},
	} {
		refused(key, changed(t, answer, change), now)
	}
}

// The first and the last number solve a challenge, and an answer may have 2,000 characters.
func TestBoundsOfAnswers(t *testing.T) {
	t.Parallel()
	for _, number := range []int{0, proofofwork.MaxNumber} {
		answer, ok := proofofwork.New(key, []byte("sixteen bytes or"), number, now.Add(time.Hour)).Solve()
		require.True(t, ok, number)
		_, err := proofofwork.Verify(key, answer, now)
		require.NoError(t, err, number)
		raw, err := base64.StdEncoding.DecodeString(answer)
		require.NoError(t, err)
		for bytes, isValid := range map[int]bool{1500: true, 1503: false} {
			padded := base64.StdEncoding.EncodeToString(append(raw[:len(raw):len(raw)], strings.Repeat(" ", bytes-len(raw))...))
			_, err = proofofwork.Verify(key, padded, now)
			require.Equal(t, isValid, err == nil, "an answer of %d characters", len(padded))
		}
	}
}
