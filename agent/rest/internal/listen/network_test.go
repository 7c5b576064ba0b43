package listen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworksOfIPv6AreCountedTogether(t *testing.T) {
	t.Parallel()
	require.Equal(t, Network("[2001:db8::1]:1"), Network("[2001:db8::2:3]:2"), "64 bits of an IPv6 network")
	require.Equal(t, Network("[fe80::1%eth0]:1"), Network("[fe80::1]:1"), "the zone does not matter")
	require.NotEqual(t, Network("[2001:db8::1]:1"), Network("[2001:db8:0:1::1]:1"))
	require.Equal(t, Network("192.0.2.1:1"), Network("[::ffff:192.0.2.1]:2"))
	require.NotEqual(t, Network("192.0.2.1:1"), Network("192.0.2.2:1"))
	require.Equal(t, Network("nonsense"), Network("more"))
}
