package controldb

import (
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"
)

func TestServerNameOfDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"sqlserver://sa:x@host?database=d": "host", "sqlserver://sa:x@host:1433?database=d": "host",
		"sqlserver://sa:x@host:1444?database=d": "host,1444", "server=host\\inst;database=d": `host\inst`,
	} {
		p, err := msdsn.Parse(dsn)
		require.NoError(t, err)
		require.Equal(t, want, dsnServerName(p), dsn)
	}
}

func TestConfigErrorsHoldNoSecret(t *testing.T) {
	for _, dsn := range []string{"sqlserver://sa:Very-Secret-1@host:notaport", "server=x;password=Very-Secret-1;encrypt=Very-Secret-1;database=d"} {
		_, err := New(Config{DSN: dsn})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "Very-Secret-1")
	}
	_, err := New(Config{DSN: "server=host;user id=sa;password=x"})
	require.ErrorContains(t, err, "database=NAME")
}
