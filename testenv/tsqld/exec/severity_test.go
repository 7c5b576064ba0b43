package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// failing are statements that raise errors, one for each effect.
var failing = []struct {
	name, text string
	number     int
	off, on    failure.Effect
}{
	{"Duplicate", "INSERT INTO t VALUES (1)", 2627, failure.EndStatement, failure.EndTransaction},
	{"NotNull", "INSERT INTO t VALUES (NULL)", 515, failure.EndStatement, failure.EndTransaction},
	{"Check", "INSERT INTO t VALUES (-1)", 547, failure.EndStatement, failure.EndTransaction},
	{"Truncation", "INSERT INTO s VALUES ('long')", 2628, failure.EndStatement, failure.EndTransaction},
	{"DivideByZero", "SELECT 1/0", 8134, failure.EndStatement, failure.EndTransaction},
	{"Overflow", "DECLARE @i tinyint = 255 + 1", 220, failure.EndStatement, failure.EndTransaction},
	{"OutOfRange", "SELECT CAST('20230231' AS datetime)", 242, failure.EndStatement, failure.EndTransaction},
	{"Subquery", "DECLARE @i int = (SELECT a FROM (VALUES (1), (2)) v(a))", 512, failure.EndStatement, failure.EndTransaction},
	{"Convert", "SELECT CAST('x' AS int)", 245, failure.EndTransaction, failure.EndTransaction},
	{"ConvertDate", "SELECT CAST('x' AS date)", 241, failure.EndTransaction, failure.EndTransaction},
	{"ConvertGUID", "SELECT CAST('x' AS uniqueidentifier)", 8169, failure.EndTransaction, failure.EndTransaction},
	{"ConvertDecimal", "SELECT CAST('x' AS decimal(5,2))", 8114, failure.EndTransaction, failure.EndTransaction},
	{"NoProcedure", "EXEC nope", 2812, failure.EndStatement, failure.EndTransaction},
	{"MissingArgument", "EXEC needs", 201, failure.EndStatement, failure.EndTransaction},
	{"BadArgument", "EXEC needs 'x'", 8114, failure.EndStatement, failure.EndTransaction},
	{"NoTable", "SELECT * FROM nope", 208, failure.EndScope, failure.EndTransaction},
	{"NoColumn", "SELECT nope FROM t", 207, failure.EndScope, failure.EndTransaction},
	{"Raiserror", "RAISERROR ('x', 16, 1)", 50000, failure.EndStatement, failure.EndStatement},
	{"Throw", ";THROW 50001, 'x', 1", 50001, failure.EndBatch, failure.EndTransaction},
	{"Dropped", "DROP TABLE nope", 3701, failure.EndStatement, failure.EndTransaction},
	{"Recursion", "EXEC deep", 217, failure.EndTransaction, failure.EndTransaction},
}

// TestSeverity raises every kind of error in a procedure inside a transaction, with XACT_ABORT OFF
// and ON. It checks which statements still run and the state of the transaction.
func TestSeverity(t *testing.T) {
	inst := newInstance(t)
	setup := workSession(t, inst)
	must(t, setup,
		"CREATE TABLE t (a int NOT NULL PRIMARY KEY CHECK (a > 0)); CREATE TABLE s (a varchar(2)); CREATE TABLE log (a int); INSERT INTO t VALUES (1)")
	must(t, setup, "CREATE PROC needs @a int AS RETURN")
	must(t, setup, "CREATE PROC deep AS EXEC deep")
	for i, f := range failing {
		proc := fmt.Sprintf("p%d", i)
		must(t, setup, "CREATE PROC "+proc+" AS "+f.text+"\nSELECT 'in procedure' AS a")
		for _, abort := range []string{"OFF", "ON"} {
			reach := f.off
			if abort == "ON" {
				reach = f.on
			}
			t.Run(f.name+"Abort"+abort, func(t *testing.T) {
				s := openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"})
				defer func() { require.NoError(t, s.Close()) }()
				got := batchOutput(t, s,
					"SET XACT_ABORT "+abort+"; BEGIN TRAN; INSERT INTO log VALUES (1)\nEXEC "+proc+"\nSELECT 'in batch' AS a")
				require.Contains(t, got, fmt.Sprintf("Msg %d,", f.number))
				require.Equal(t, reach < failure.EndScope, strings.Contains(got, "in procedure\n"), got)
				require.Equal(t, reach < failure.EndBatch, strings.Contains(got, "in batch\n"), got)
				want := "1"
				if reach >= failure.EndTransaction {
					want = "0"
				}
				require.Equal(t, "[n int not null]\n"+want+"\n(1)\n", batchOutput(t, s, "SELECT @@TRANCOUNT n"))
			})
			t.Run(f.name+"Caught"+abort, func(t *testing.T) {
				s := openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"})
				defer func() { require.NoError(t, s.Close()) }()
				got := batchOutput(t, s,
					"SET XACT_ABORT "+abort+"\nBEGIN TRY\nBEGIN TRAN\nEXEC "+proc+"\nSELECT 'in try'\nEND TRY\nBEGIN CATCH\nSELECT ERROR_NUMBER() n, XACT_STATE() x\nROLLBACK\nEND CATCH")
				state := "1"
				if abort == "ON" || f.off == failure.EndTransaction {
					state = "-1"
				}
				require.Contains(t, got, fmt.Sprintf("%d | %s\n(1)\n", f.number, state))
				require.NotContains(t, got, "Msg ")
				require.NotContains(t, got, "in try")
			})
		}
	}
}
