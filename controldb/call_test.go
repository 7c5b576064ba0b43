package controldb

import (
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/dberror"
	sqlfs "github.com/jobagent/jobagent/sql"
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

func TestModuleBodyIgnoresCreate(t *testing.T) {
	objects, err := sqlfs.Objects()
	require.NoError(t, err)
	for _, o := range objects {
		if o.Kind == sqlfs.KindView || o.Kind == sqlfs.KindProcedure {
			body := moduleBody(o.Text)
			require.True(t, len(body) < len(o.Text) && (body[:5] == "VIEW " || body[:5] == "PROCE"), o.Name)
		}
	}
	for _, kept := range []string{"-- x\nCREATE VIEW a AS SELECT 1;", "-- x\nCREATE   VIEW a AS SELECT 1;", "-- y\nALTER VIEW a AS SELECT 1;"} {
		require.Equal(t, moduleBody("-- x\r\nCREATE OR ALTER VIEW a AS SELECT 1;\r\n"), moduleBody(kept))
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

func TestSchemaVersionErrorSaysWhatToDo(t *testing.T) {
	version := &SchemaVersionError{Have: 1, Want: 2}
	require.ErrorIs(t, version, dberror.ErrSchemaVersion)
	require.Contains(t, version.Error(), "jobagent db migrate")
}
