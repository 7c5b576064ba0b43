package callbacks

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/internal/listen"
)

func TestMissesAreCountedByNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m misses
		guesser, other := listen.Network("192.0.2.7:4000"), listen.Network("192.0.2.8:4000")
		for range maxMisses {
			_, exceeded := m.exceeded(guesser, time.Now())
			require.False(t, exceeded)
			m.add(guesser, time.Now())
		}
		<-time.After(missWindow / 4)
		wait, exceeded := m.exceeded(guesser, time.Now())
		require.True(t, exceeded)
		require.Equal(t, missWindow*3/4, wait)
		_, exceeded = m.exceeded(other, time.Now())
		require.False(t, exceeded)
		<-time.After(missWindow)
		_, exceeded = m.exceeded(guesser, time.Now())
		require.False(t, exceeded, "a new window has begun")
	})
}

func TestMissesAreBoundedInMemory(t *testing.T) {
	t.Parallel()
	var m misses
	now := time.Now()
	for i := range maxAddresses + 10 {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		m.add(listen.Network(netip.AddrPortFrom(addr, 1).String()), now)
	}
	require.Len(t, m.counted, maxAddresses)
}
