package misses

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	var c Counter
	now := time.Now()
	const here, there = "192.0.2.1:1", "192.0.2.2:1"
	for range MaxPerUser {
		require.Zero(t, c.Wait(here, "u", now))
		c.Add(here, "u", now)
	}
	require.Equal(t, Window-10*time.Second, c.Wait(here, "u", now.Add(10*time.Second)))
	require.Positive(t, c.Wait("192.0.2.1:2", "u", now), "the port does not matter")
	require.Zero(t, c.Wait(here, "v", now), "another user")
	require.Zero(t, c.Wait(there, "u", now), "another address: nobody locks out others")
	require.Zero(t, c.Wait(here, "u", now.Add(Window)), "the next window")
	for i := range MaxPerAddress {
		c.Add(there, fmt.Sprint(i), now.Add(Window))
	}
	require.Positive(t, c.Wait(there, "x", now.Add(Window)), "many users from one address")
}

// Somebody who guesses many users' passwords does not lock out a user of the same network who was
// right before. Failures of this user count nevertheless.
func TestGuessesAboutOthersHurtNoKnownUser(t *testing.T) {
	t.Parallel()
	var c Counter
	now := time.Now()
	const here = "192.0.2.1:1"
	c.Right(here, "known")
	for i := range MaxPerAddress {
		c.Add(here, fmt.Sprint(i), now)
	}
	require.Zero(t, c.Wait(here, "known", now))
	require.Positive(t, c.Wait(here, "unknown", now))
	for range MaxPerUser {
		c.Add(here, "known", now)
	}
	require.Positive(t, c.Wait(here, "known", now))
	for i := range maxEntries + 10 {
		c.Right(here, fmt.Sprint("user ", i))
	}
	require.Len(t, c.right, maxEntries, "memory is bounded")
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var c Counter
	now := time.Now()
	for i := range maxEntries + 100 {
		c.Add(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), strings.Repeat("u", 200), now)
	}
	require.LessOrEqual(t, len(c.users), maxEntries)
	require.LessOrEqual(t, len(c.addresses), maxEntries)
}
