package failure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// TestEffects checks the severity table without executing statements.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     *mserr.Error
		from    Origin
		off, on Effect // without and with XACT_ABORT
		dooms   bool   // the error dooms the transaction when caught without XACT_ABORT
	}{
		{"Constraint", mserr.DuplicateKey("PRIMARY KEY", "k", "t", "(1)"), AtRun, EndStatement, EndTransaction, false},
		{"DivideByZero", mserr.DivideByZero(), AtRun, EndStatement, EndTransaction, false},
		{"Conversion", mserr.ConversionFailed("varchar", "x", "int"), AtRun, EndTransaction, EndTransaction, true},
		{"Argument", mserr.ConversionError("varchar", "int"), AtArgument, EndStatement, EndTransaction, false},
		{"Deadlock", mserr.Deadlock(1, "lock"), AtRun, EndTransaction, EndTransaction, true},
		{"LockTimeout", mserr.LockTimeout(), AtRun, EndStatement, EndTransaction, false},
		{"Name", mserr.InvalidObject("t"), AtCompile, EndScope, EndTransaction, false},
		{"Raiserror", mserr.New(50000, 16, "x"), AtRaise, EndStatement, EndStatement, false},
		{"Throw", mserr.New(50000, 16, "x"), AtThrow, EndBatch, EndTransaction, false},
		{"Nesting", mserr.NestingLevel(32), AtRun, EndTransaction, EndTransaction, true},
		{"Count", mserr.TransactionCount(0, 1), AtRun, EndStatement, EndStatement, false},
		{"Fatal", mserr.New(50000, 20, "x"), AtRaise, EndConnection, EndConnection, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.off, effectOf(tt.err, tt.from, false))
			require.Equal(t, tt.on, effectOf(tt.err, tt.from, true))
			require.True(t, Dooms(tt.err, tt.from, true))
			if tt.name != "Fatal" {
				require.Equal(t, tt.dooms, Dooms(tt.err, tt.from, false))
			}
		})
	}
}
