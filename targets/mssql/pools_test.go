package mssql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

func TestPoolsAreShared(t *testing.T) {
	t.Parallel()
	s := testServers(t, Config{Dialer: silentServer{}}, LoginCredential("default", "sa", "pw", "*"))
	a, err := s.acquire("H", "D", "", false)
	require.NoError(t, err)
	b, err := s.acquire("h", "d", "", false)
	require.NoError(t, err)
	require.Same(t, a, b)
	require.NoError(t, s.Close())
	_, err = s.acquire("h", "d", "", false)
	require.ErrorContains(t, err, "closed")
	s.release(a)
	s.release(b)
}

// An agent that has written to the databases of a thousand servers does not keep a thousand pools.
func TestUnusedPoolIsEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := testServers(t, Config{Dialer: silentServer{}}, LoginCredential("default", "sa", "pw", "*"))
		first, err := s.acquire("h", "d", "", false)
		require.NoError(t, err)
		second, err := s.acquire("h", "d", "", false)
		require.NoError(t, err)
		s.release(first)
		time.Sleep(2 * poolIdleTime)
		require.Len(t, s.pools, 1, "the pool has a user")

		s.release(second)
		time.Sleep(poolIdleTime / 2)
		again, err := s.acquire("h", "d", "", false)
		require.NoError(t, err)
		require.Same(t, first, again)
		time.Sleep(2 * poolIdleTime)
		require.Len(t, s.pools, 1, "the pool has a user again")

		s.release(again)
		time.Sleep(poolIdleTime)
		synctest.Wait()
		require.Empty(t, s.pools)
		require.ErrorContains(t, first.db.PingContext(t.Context()), "closed")
	})
}

// A pool reads a secret when it logs in, not when it is acquired.
func TestPoolReadsNoSecret(t *testing.T) {
	t.Parallel()
	s := testServers(t, Config{Dialer: silentServer{}}, Credential{
		Name: "default", Servers: []string{"*"}, Kind: KindSQLLogin, User: "u", Secret: "env:JOBAGENT_TEST_UNSET",
	})
	p, err := s.acquire("h", "d", "", false)
	require.NoError(t, err)
	defer s.release(p)
	_, err = p.db.Conn(t.Context())
	var config *targets.ConfigError
	require.ErrorAs(t, err, &config)
	require.ErrorContains(t, err, "JOBAGENT_TEST_UNSET is not set")
}
