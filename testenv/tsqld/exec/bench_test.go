package exec

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// discard is a Sink that discards everything.
type discard struct{}

func (discard) Columns([]types.Column) error                           { return nil }
func (discard) Row([]types.Value) error                                { return nil }
func (discard) Done(answer.Done) error                                 { return nil }
func (discard) Message(*mserr.Error) error                             { return nil }
func (discard) ReturnStatus(int32) error                               { return nil }
func (discard) ReturnValue(int, string, types.Type, types.Value) error { return nil }
func (discard) EnvChange(answer.EnvChange) error                       { return nil }

func BenchmarkBatch(b *testing.B) {
	inst, err := New(session.Config{SAPassword: "secret"})
	require.NoError(b, err)
	defer func() { require.NoError(b, inst.Close()) }()
	s, err := inst.NewSession(context.Background(), session.Login{User: "sa", Password: "secret"})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	ctx := context.Background()
	for _, text := range []string{
		"CREATE DATABASE bench", "USE bench",
		"CREATE TABLE t (id int IDENTITY PRIMARY KEY, state varchar(10) NOT NULL, owner uniqueidentifier NULL, due datetime2 NOT NULL DEFAULT SYSUTCDATETIME(), INDEX ix (state, due))",
		"CREATE PROC small @a int AS BEGIN SET NOCOUNT ON; DECLARE @b int = @a + 1; IF @b > 3 SET @b = @b * 2; RETURN @b END",
		"CREATE PROC getrow @id int AS SELECT id, state FROM t WHERE id = @id",
		"CREATE PROC addrow AS INSERT INTO t (state) VALUES ('new')",
		"INSERT INTO t (state) SELECT TOP (20000) 'new' FROM sys.all_columns a CROSS JOIN sys.all_columns b",
		"CREATE PROC claim @n int AS BEGIN SET NOCOUNT ON; DECLARE @o uniqueidentifier = NEWID(); WITH due AS (SELECT TOP (@n) * FROM t WITH (UPDLOCK, READPAST) WHERE state = 'new' ORDER BY due) UPDATE due SET state = 'old', owner = @o OUTPUT inserted.id, inserted.due; UPDATE t SET state = 'new' WHERE owner = @o END",
	} {
		var r recorder
		require.NoError(b, s.Batch(ctx, text, &r))
		require.NotRegexp(b, `Msg \d+, Level 1[1-9]`, r.b.String())
	}
	for _, bm := range []struct{ name, text string }{
		{"Empty", "DECLARE @a int"}, {"SelectConst", "SELECT 1 AS a"}, {"Proc", "EXEC small 4"},
		{"GetRow", "EXEC getrow 5"}, {"AddRow", "EXEC addrow"},
		{"Loop1000", "DECLARE @i int = 0; WHILE @i < 1000 SET @i += 1"}, {"Claim300", "EXEC claim 300"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Batch(ctx, bm.text, discard{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
