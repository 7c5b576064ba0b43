package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/questions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// questionGroup is the target group of the fixture's databases.
const questionGroup = "asked"

// permitQuestions switches questions on, and makes a group of the fixture's databases.
func (f *fixture) permitQuestions(t *testing.T, databases ...string) {
	t.Helper()
	f.exec(t, f.Control, `EXECUTE jobs.sp_set_setting N'questions', 1; EXECUTE jobs.sp_add_target_group N'asked';`)
	for _, name := range databases {
		f.exec(t, f.Control, `EXECUTE jobs.sp_add_target_group_member N'asked', N'Include', N'SqlDatabase', @server_name = @p1, @database_name = @p2;`,
			f.ServerName, name)
	}
}

// answered waits until a question has ended.
func (f *fixture) answered(t *testing.T, id int64) questions.Question {
	t.Helper()
	return f.asked(t, id, func(q questions.Question) bool { return !q.Active })
}

// asked waits until ok accepts a question.
func (f *fixture) asked(t *testing.T, id int64, ok func(questions.Question) bool) questions.Question {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		q, err := questions.On(f.Store).Get(t.Context(), id)
		require.NoError(t, err)
		if ok(q) {
			return q
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the question is %s: %+v", q.Lifecycle, q)
		case <-tick.C:
		}
	}
}

// answers returns the rows of a question in the order of the databases.
func (f *fixture) answers(t *testing.T, id int64) (list []string) {
	t.Helper()
	rows, err := questions.On(f.Store).Rows(t.Context(), id, 0, 20_000)
	require.NoError(t, err)
	for i, r := range rows {
		require.Equal(t, i+1, r.Number)
		values, err := json.Marshal(r.Values)
		require.NoError(t, err)
		list = append(list, fmt.Sprintf("%d %s %s", r.Shape, r.Database, values))
	}
	return list
}

// TestQuestion: the databases of a group answer; those that fail are counted with their error, and
// nothing is changed.
func TestQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 4)
		for i, name := range f.Targets {
			f.exec(t, name, `CREATE TABLE dbo.t (id INT NOT NULL, note NVARCHAR(MAX) NULL, at DATETIME2(0) NULL);`)
			f.exec(t, name, `INSERT INTO dbo.t VALUES (@p1, N'a "b"', '2026-01-02T03:04:05'), (@p1 + 10, NULL, NULL);`, i)
		}
		f.exec(t, "db3", `DROP TABLE dbo.t;`)
		f.permitQuestions(t, f.Targets...)
		f.exec(t, f.Control, `EXECUTE jobs.sp_pause_target @p1, N'db4', N'is being moved';`, f.ServerName)
		f.startAgent(t, agent.Config{})

		id, err := questions.On(f.Store).Ask(t.Context(), questions.Spec{
			TargetGroup: "ASKED", Text: "INSERT INTO dbo.t (id) VALUES (7);\nGO\nSELECT id, note, at FROM dbo.t WHERE id <> 7 ORDER BY id; SELECT 1.50 AS n",
		})
		require.NoError(t, err)
		q := f.answered(t, id)
		require.Equal(t, jobs.Failed, q.Lifecycle)
		require.Equal(t, "1 of 3 databases failed.", q.Message)
		require.Equal(t, []int{4, 2, 1, 1, 6}, []int{*q.Targets, q.Answered, q.Failed, q.Paused, q.Rows})
		require.False(t, q.Cut)
		require.True(t, q.Readable)
		require.ElementsMatch(t, []string{
			`1 db1 [0,"a \"b\"","2026-01-02T03:04:05"]`, `1 db1 [10,null,null]`, `2 db1 [1.50]`,
			`1 db2 [1,"a \"b\"","2026-01-02T03:04:05"]`, `1 db2 [11,null,null]`, `2 db2 [1.50]`,
		}, f.answers(t, id))
		shapes, err := questions.On(f.Store).Shapes(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []questions.Shape{
			{Shape: 1, ResultSet: 1, Columns: []questions.Column{{Name: "id", Kind: "number"}, {Name: "note", Kind: "text"}, {Name: "at", Kind: "time"}}},
			{Shape: 2, ResultSet: 2, Columns: []questions.Column{{Name: "n", Kind: "number"}}},
		}, shapes)
		failures, err := questions.On(f.Store).Errors(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, failures, 1)
		require.Contains(t, failures[0].Message, "Invalid object name 'dbo.t'")
		require.Equal(t, []string{f.ServerName + "/db3"}, failures[0].Names)
		var left int
		f.query(t, "db1", `SELECT COUNT(*) FROM dbo.t WHERE id = 7`, &left)
		require.Zero(t, left)
	})
}

// TestQuestionLimits: rows beyond the limits are cut, and long values, too. What cannot be rolled
// back is not sent.
func TestQuestionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		f.permitQuestions(t, f.Targets...)
		f.startAgent(t, agent.Config{})
		ask := func(text string, edit func(*questions.Spec)) questions.Question {
			spec := questions.Spec{TargetGroup: questionGroup, Text: text}
			if edit != nil {
				edit(&spec)
			}
			id, err := questions.On(f.Store).Ask(t.Context(), spec)
			require.NoError(t, err)
			return f.answered(t, id)
		}
		const numbers = "SELECT o.value FROM STRING_SPLIT(REPLICATE(N'1,', 1999) + N'1', N',') AS o"

		q := ask(numbers, func(s *questions.Spec) { s.MaxRows = ptr(1500) })
		require.Equal(t, jobs.Succeeded, q.Lifecycle)
		require.Equal(t, 1500, q.Rows)
		require.True(t, q.Cut)
		require.Len(t, f.answers(t, q.ID), 1500)

		q = ask(numbers, func(s *questions.Spec) { s.MaxRowsOfTarget = ptr(3) })
		require.Equal(t, []int{6, 2, 0}, []int{q.Rows, q.Answered, q.Failed})
		require.True(t, q.Cut)

		q = ask("SELECT REPLICATE(CAST(N'x' AS NVARCHAR(MAX)), 100000) AS a", nil)
		require.Equal(t, 2, q.Rows)
		require.Less(t, len(f.answers(t, q.ID)[0]), 4100)

		// 10,000 rows of 4,000 characters are ten times the limit.
		long := strings.Replace(numbers, "o.value", "REPLICATE(N'x', 3000)", 1)
		q = ask(long, func(s *questions.Spec) { s.MaxRows = ptr(10_000) })
		require.Equal(t, jobs.Succeeded, q.Lifecycle)
		require.True(t, q.Cut)
		require.Less(t, q.Rows, 1500)
		require.Greater(t, q.Rows, 1300)

		q = ask("SELECT 1; ALTER DATABASE x SET RECOVERY SIMPLE", nil)
		require.Equal(t, jobs.Failed, q.Lifecycle)
		require.Contains(t, q.Message, "Nothing was sent, because this cannot be rolled back: line 1: ALTER DATABASE")
		require.Nil(t, q.Targets)

		q = ask("WAITFOR DELAY '00:05'", func(s *questions.Spec) { s.TimeoutSeconds = ptr(2) })
		require.Equal(t, "2 of 2 databases failed.", q.Message)
		require.Less(t, q.End.Sub(q.Start), 10*time.Second)
	})
}

// TestQuestionCanceled: the queries on the servers end when somebody cancels the question, and what
// has come stays.
func TestQuestionCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		f.permitQuestions(t, f.Targets...)

		// Without an agent nothing has to end.
		id, err := questions.On(f.Store).Ask(t.Context(), questions.Spec{TargetGroup: questionGroup, Text: "SELECT 1"})
		require.NoError(t, err)
		require.NoError(t, questions.On(f.Store).Cancel(t.Context(), id))
		require.Equal(t, jobs.Canceled, f.answered(t, id).Lifecycle)

		f.startAgent(t, agent.Config{})
		id, err = questions.On(f.Store).Ask(t.Context(), questions.Spec{
			TargetGroup: questionGroup, Text: "SELECT 1 AS a;\nGO\nIF DB_NAME() = N'db2' WAITFOR DELAY '00:09'", TimeoutSeconds: ptr(600),
		})
		require.NoError(t, err)
		f.asked(t, id, func(q questions.Question) bool { return q.Rows == 2 && q.Answered == 1 })
		before := time.Now()
		require.NoError(t, questions.On(f.Store).Cancel(t.Context(), id))
		q := f.answered(t, id)
		require.Less(t, time.Since(before), 3*time.Second)
		require.Equal(t, jobs.Canceled, q.Lifecycle)
		require.Equal(t, "Canceled by "+q.CanceledBy+".", q.Message)
		require.Equal(t, []int{2, 1, 0}, []int{q.Rows, q.Answered, q.Failed})
		var sessions int
		f.query(t, "master", `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name LIKE N'%question%'`, &sessions)
		require.Zero(t, sessions)
		require.ErrorIs(t, questions.On(f.Store).Cancel(t.Context(), 99), dberror.ErrQuestionNotFound)
	})
}

// TestQuestionOfLostAgent: a question whose agent has stopped or was lost fails; what had come
// stays.
func TestQuestionOfLostAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		f.permitQuestions(t, f.Targets...)
		stop := f.startAgent(t, agent.Config{})
		spec := questions.Spec{
			TargetGroup: questionGroup, Text: "SELECT 1 AS a;\nGO\nWAITFOR DELAY '00:09'", TimeoutSeconds: ptr(600),
		}
		partly := func(q questions.Question) bool { return q.Rows == 2 }
		id, err := questions.On(f.Store).Ask(t.Context(), spec)
		require.NoError(t, err)
		f.asked(t, id, partly)
		f.exec(t, f.Control, endTerm)
		q := f.answered(t, id)
		require.Equal(t, jobs.Failed, q.Lifecycle)
		require.Contains(t, q.Message, "The agent was lost; ask again.")
		require.Equal(t, 2, q.Rows)

		id, err = questions.On(f.Store).Ask(t.Context(), spec)
		require.NoError(t, err)
		f.asked(t, id, partly)
		stop()
		q = f.answered(t, id)
		require.Equal(t, jobs.Failed, q.Lifecycle)
		require.Contains(t, q.Message, "The agent stopped before all databases had answered; ask again.")

		// Nobody waits for a question that was asked hours ago.
		id, err = questions.On(f.Store).Ask(t.Context(), spec)
		require.NoError(t, err)
		f.exec(t, f.Control, `UPDATE jobs_internal.questions SET asked_at = DATEADD(HOUR, -1, asked_at) WHERE is_active = 1;`)
		f.startAgent(t, agent.Config{})
		require.Contains(t, f.answered(t, id).Message, "No agent began with the question within 15 minutes")

		// The cleanup deletes all of them.
		f.exec(t, f.Control, `UPDATE jobs_internal.questions SET expires_at = asked_at;`)
		for left := 1; left > 0; {
			f.query(t, f.Control, `SELECT (SELECT COUNT(*) FROM jobs_internal.questions) + (SELECT COUNT(*) FROM jobs_internal.question_rows)
    + (SELECT COUNT(*) FROM jobs_internal.question_shapes) + (SELECT COUNT(*) FROM jobs_internal.question_errors)`, &left)
			sleepVirtual(t, time.Second)
		}
	})
}

// sleepVirtual lets virtual time pass.
func sleepVirtual(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// TestQuestionWhoseAnswersAreRefused: rows that the control database refuses to store end the
// question with the reason. Its sessions on the databases end, too.
func TestQuestionWhoseAnswersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		f.permitQuestions(t, f.Targets...)
		f.startAgent(t, agent.Config{})
		mend := f.refuse(t, "question_rows", "1 = 1")
		id, err := questions.On(f.Store).Ask(t.Context(), questions.Spec{
			TargetGroup: questionGroup, Text: "SELECT 1 AS a;\nGO\nWAITFOR DELAY '00:04'", TimeoutSeconds: ptr(600),
		})
		require.NoError(t, err)
		q := f.answered(t, id)
		require.Equal(t, jobs.Failed, q.Lifecycle)
		require.Contains(t, q.Message, "60001")
		require.Less(t, q.End.Sub(q.Start), time.Minute)
		var sessions int
		f.query(t, "master", `SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name LIKE N'%question%'`, &sessions)
		require.Zero(t, sessions)
		mend()
	})
}
