package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// TestEffects checks the severity table without executing statements.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     *mserr.Error
		from    origin
		off, on effect // without and with XACT_ABORT
		dooms   bool   // the error dooms the transaction when caught without XACT_ABORT
	}{
		{"Constraint", mserr.DuplicateKey("PRIMARY KEY", "k", "t", "(1)"), atRun, endStatement, endTransaction, false},
		{"DivideByZero", mserr.DivideByZero(), atRun, endStatement, endTransaction, false},
		{"Conversion", mserr.ConversionFailed("varchar", "x", "int"), atRun, endTransaction, endTransaction, true},
		{"Argument", mserr.ConversionError("varchar", "int"), atArgument, endStatement, endTransaction, false},
		{"Deadlock", mserr.Deadlock(1, "lock"), atRun, endTransaction, endTransaction, true},
		{"LockTimeout", mserr.LockTimeout(), atRun, endStatement, endTransaction, false},
		{"Name", mserr.InvalidObject("t"), atCompile, endScope, endTransaction, false},
		{"Raiserror", mserr.New(50000, 16, "x"), atRaise, endStatement, endStatement, false},
		{"Throw", mserr.New(50000, 16, "x"), atThrow, endBatch, endTransaction, false},
		{"Nesting", mserr.NestingLevel(32), atRun, endTransaction, endTransaction, true},
		{"Count", mserr.TransactionCount(0, 1), atRun, endStatement, endStatement, false},
		{"Fatal", mserr.New(50000, 20, "x"), atRaise, endConnection, endConnection, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.off, effectOf(tt.err, tt.from, false))
			require.Equal(t, tt.on, effectOf(tt.err, tt.from, true))
			require.True(t, dooms(tt.err, tt.from, true))
			if tt.name != "Fatal" {
				require.Equal(t, tt.dooms, dooms(tt.err, tt.from, false))
			}
		})
	}
}

// failing are statements that raise errors, one for each effect.
var failing = []struct {
	name, text string
	number     int
	off, on    effect
}{
	{"Duplicate", "INSERT INTO t VALUES (1)", 2627, endStatement, endTransaction},
	{"NotNull", "INSERT INTO t VALUES (NULL)", 515, endStatement, endTransaction},
	{"Check", "INSERT INTO t VALUES (-1)", 547, endStatement, endTransaction},
	{"Truncation", "INSERT INTO s VALUES ('long')", 2628, endStatement, endTransaction},
	{"DivideByZero", "SELECT 1/0", 8134, endStatement, endTransaction},
	{"Overflow", "DECLARE @i tinyint = 255 + 1", 220, endStatement, endTransaction},
	{"OutOfRange", "SELECT CAST('20230231' AS datetime)", 242, endStatement, endTransaction},
	{"Subquery", "DECLARE @i int = (SELECT a FROM (VALUES (1), (2)) v(a))", 512, endStatement, endTransaction},
	{"Convert", "SELECT CAST('x' AS int)", 245, endTransaction, endTransaction},
	{"ConvertDate", "SELECT CAST('x' AS date)", 241, endTransaction, endTransaction},
	{"ConvertGUID", "SELECT CAST('x' AS uniqueidentifier)", 8169, endTransaction, endTransaction},
	{"ConvertDecimal", "SELECT CAST('x' AS decimal(5,2))", 8114, endTransaction, endTransaction},
	{"NoProcedure", "EXEC nope", 2812, endStatement, endTransaction},
	{"MissingArgument", "EXEC needs", 201, endStatement, endTransaction},
	{"BadArgument", "EXEC needs 'x'", 8114, endStatement, endTransaction},
	{"NoTable", "SELECT * FROM nope", 208, endScope, endTransaction},
	{"NoColumn", "SELECT nope FROM t", 207, endScope, endTransaction},
	{"Raiserror", "RAISERROR ('x', 16, 1)", 50000, endStatement, endStatement},
	{"Throw", ";THROW 50001, 'x', 1", 50001, endBatch, endTransaction},
	{"Dropped", "DROP TABLE nope", 3701, endStatement, endTransaction},
	{"Recursion", "EXEC deep", 217, endTransaction, endTransaction},
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
				s := openSession(t, inst, Login{User: "sa", Password: "secret", Database: "work"})
				defer func() { require.NoError(t, s.Close()) }()
				got := batchOutput(t, s,
					"SET XACT_ABORT "+abort+"; BEGIN TRAN; INSERT INTO log VALUES (1)\nEXEC "+proc+"\nSELECT 'in batch' AS a")
				require.Contains(t, got, fmt.Sprintf("Msg %d,", f.number))
				require.Equal(t, reach < endScope, strings.Contains(got, "in procedure\n"), got)
				require.Equal(t, reach < endBatch, strings.Contains(got, "in batch\n"), got)
				want := "1"
				if reach >= endTransaction {
					want = "0"
				}
				require.Equal(t, "[n int]\n"+want+"\n(1)\n", batchOutput(t, s, "SELECT @@TRANCOUNT n"))
			})
			t.Run(f.name+"Caught"+abort, func(t *testing.T) {
				s := openSession(t, inst, Login{User: "sa", Password: "secret", Database: "work"})
				defer func() { require.NoError(t, s.Close()) }()
				got := batchOutput(t, s,
					"SET XACT_ABORT "+abort+"\nBEGIN TRY\nBEGIN TRAN\nEXEC "+proc+"\nSELECT 'in try'\nEND TRY\nBEGIN CATCH\nSELECT ERROR_NUMBER() n, XACT_STATE() x\nROLLBACK\nEND CATCH")
				state := "1"
				if abort == "ON" || f.off == endTransaction {
					state = "-1"
				}
				require.Contains(t, got, fmt.Sprintf("%d | %s\n(1)\n", f.number, state))
				require.NotContains(t, got, "Msg ")
				require.NotContains(t, got, "in try")
			})
		}
	}
}
