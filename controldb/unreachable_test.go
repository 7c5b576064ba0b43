package controldb_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/targets/mssql"
)

// A server that closes the connection during the login, as a stopping server does, is unreachable.
// The driver's error is no network error.
func TestServerThatCutsTheLoginIsUnreachable(t *testing.T) {
	t.Parallel()
	// the answer to PRELOGIN: version, encryption is on (1), end of the list
	prelogin := []byte{
		0x04, 0x01, 0x00, 0x1a, 0x00, 0x00, 0x01, 0x00, // header: 26 bytes
		0x00, 0x00, 0x0b, 0x00, 0x06, // VERSION: 6 bytes at 11
		0x01, 0x00, 0x11, 0x00, 0x01, // ENCRYPTION: 1 byte at 17
		0xff, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
	}
	for name, answer := range map[string][]byte{"before any answer": nil, "in the TLS handshake": prelogin} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Read(make([]byte, 4096))
					if answer != nil {
						_, _ = conn.Write(answer)
						_, _ = conn.Read(make([]byte, 4096))
					}
					_ = conn.Close()
				}
			})
			defer serving.Wait()
			defer listener.Close()
			connector, err := mssql.NewConnector("sqlserver://sa:x@"+listener.Addr().String()+"?encrypt=true&trustservercertificate=true", nil)
			require.NoError(t, err)
			_, err = controldb.Open(t.Context(), controldb.Config{Connector: connector, ServerName: "s"})
			require.ErrorIs(t, err, dberror.ErrUnreachable)
			if answer != nil {
				require.ErrorContains(t, err, "andshake")
			}
		})
	}
}
