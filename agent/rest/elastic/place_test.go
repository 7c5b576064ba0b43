package elastic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
)

// TestShortServerNames: R-9.
func TestShortServerNames(t *testing.T) {
	t.Parallel()
	azure := &place{entry: &rest.Entry{DNSSuffix: ".database.windows.net"}}
	for short, long := range map[string]string{
		"srv": "srv.database.windows.net", "srv.example.com": "srv.example.com", "srv,1433": "srv,1433", `srv\one`: `srv\one`,
		"tcp:srv": "tcp:srv", "": "", "a.b.database.windows.net": "a.b.database.windows.net",
	} {
		require.Equal(t, long, azure.serverOf(short), short)
		require.Equal(t, short, azure.shortServer(long), long)
	}
	require.Equal(t, "SRV", azure.shortServer("SRV.Database.Windows.net"))
	require.Equal(t, ".database.windows.net", azure.shortServer(".database.windows.net"))
	plain := &place{entry: &rest.Entry{}}
	require.Equal(t, "srv", plain.serverOf("srv"))
	require.Equal(t, "srv.database.windows.net", plain.shortServer("srv.database.windows.net"))
}

// TestIDs: what an id says comes back.
func TestIDs(t *testing.T) {
	t.Parallel()
	p := &place{entry: &rest.Entry{Subscription: "s", ResourceGroup: "rg", Server: "srv"}, agent: "a"}
	for _, name := range []string{"plain", "a/b", "100%", "a%2Fb", "ä b", "a?b#c", "x+y"} {
		got, err := p.idOf("targetGroups", p.id("targetGroups", name), "$")
		require.NoError(t, err)
		require.Equal(t, name, got)
	}
	got, err := p.idOf("targetGroups", "", "$")
	require.NoError(t, err)
	require.Empty(t, got)
}
