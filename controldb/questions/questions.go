package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// Spec is a question to the databases of a target group. Limits that are nil have the
// defaults of jobs.sp_ask_question.
type Spec struct {
	TargetGroup string
	// Text is the T-SQL text.
	Text string
	// Credential is empty for the agent's default.
	Credential string
	// MaxRows and MaxRowsOfTarget bound the rows of all databases together, and of each.
	MaxRows, MaxRowsOfTarget *int
	// TimeoutSeconds bounds the time of each database.
	TimeoutSeconds *int
}

// Ask asks a question, which an agent carries out, and returns its id.
func (s Store) Ask(ctx context.Context, q Spec) (id int64, err error) {
	c := call.New("jobs.sp_ask_question").In("target_group_name", q.TargetGroup).In("question", q.Text).
		OptText("credential_name", q.Credential)
	call.Opt(c, "max_rows", q.MaxRows)
	call.Opt(c, "max_rows_of_target", q.MaxRowsOfTarget)
	call.Opt(c, "timeout_seconds", q.TimeoutSeconds)
	err = s.conn.Exec(ctx, "ask a question", c.Out("question_id", &id))
	return id, err
}

// Cancel cancels a question. It returns [dberror.ErrQuestionNotFound] if there is none.
func (s Store) Cancel(ctx context.Context, id int64) error {
	return s.conn.Exec(ctx, "cancel a question", call.New("jobs.sp_cancel_question").In("question_id", id))
}

// Question is a question that was asked through the control database. Its fields are those of the
// view jobs.questions.
type Question struct {
	ID              int64          `db:"question_id" json:"question_id"`
	TargetGroup     string         `db:"target_group_name" json:"target_group_name"`
	Text            string         `db:"question" json:"question,omitempty"` // not for everyone
	Credential      string         `db:"credential_name" json:"credential_name,omitempty"`
	MaxRows         int            `db:"max_rows" json:"max_rows"`
	MaxRowsOfTarget int            `db:"max_rows_of_target" json:"max_rows_of_target,omitempty"` // of one database
	TimeoutSeconds  int            `db:"timeout_seconds" json:"timeout_seconds"`                 // of one database
	Lifecycle       jobs.Lifecycle `db:"lifecycle" json:"lifecycle"`
	Active          bool           `db:"is_active" json:"is_active"`
	Readable        bool           `db:"is_readable" json:"is_readable"` // the caller may read the answers
	Asked           time.Time      `db:"asked_time" json:"asked_time"`
	AskedBy         string         `db:"asked_by" json:"asked_by"`
	Start           time.Time      `db:"start_time" json:"start_time,omitzero"`
	End             time.Time      `db:"end_time" json:"end_time,omitzero"`
	CancelRequested time.Time      `db:"cancel_requested_time" json:"cancel_requested_time,omitzero"`
	CanceledBy      string         `db:"canceled_by" json:"canceled_by,omitempty"`
	Message         string         `db:"message" json:"message,omitempty"` // how it ended
	Targets         *int           `db:"targets" json:"targets"`           // databases in the group; null: not known yet
	Answered        int            `db:"answered" json:"answered"`
	Failed          int            `db:"failed" json:"failed"`
	Paused          int            `db:"paused" json:"paused"` // not asked
	Rows            int            `db:"row_count" json:"row_count"`
	Cut             bool           `db:"is_cut" json:"is_cut"` // a limit has cut rows off
	// Expires is when it may be deleted.
	Expires time.Time `db:"expire_time" json:"expire_time"`
}

// selectQuestions selects the columns of Question.
const selectQuestions = ` q.question_id, q.target_group_name, q.question, q.credential_name, q.max_rows, q.max_rows_of_target,
    q.timeout_seconds, q.lifecycle, q.is_active, q.is_readable, q.asked_time, q.asked_by, q.start_time, q.end_time,
    q.cancel_requested_time, q.canceled_by, q.message, q.targets, q.answered, q.failed, q.paused, q.row_count, q.is_cut, q.expire_time
FROM jobs.questions AS q
`

// Questions lists at most limit questions, the latest first.
func (s Store) Questions(ctx context.Context, limit int) ([]Question, error) {
	return call.SelectAll[Question](call.WithName(ctx), s.conn, "list questions",
		"SELECT TOP (@p1)"+selectQuestions+"ORDER BY q.question_id DESC;", limit)
}

// Get returns a question, or [dberror.ErrQuestionNotFound].
func (s Store) Get(ctx context.Context, id int64) (Question, error) {
	list, err := call.SelectAll[Question](call.WithName(ctx), s.conn, "read a question", "SELECT"+selectQuestions+"WHERE q.question_id = @p1;", id)
	if err != nil {
		return Question{}, err
	}
	if len(list) == 0 {
		return Question{}, dberror.ErrQuestionNotFound
	}
	return list[0], nil
}

// Shape is a row of the view jobs.question_shapes: result sets with the same number and the
// same columns.
type Shape struct {
	Shape     int      `db:"shape"`
	ResultSet int      `db:"result_set"`
	Columns   []Column `db:"columns"`
}

// Column is a column of an answer.
type Column struct {
	Name string `json:"name"`
	// Kind is what the values are: number, bit, text, time or bytes.
	Kind string `json:"kind"`
}

// Row is a row of the view jobs.question_rows.
type Row struct {
	Number   int    `db:"row_number"`
	Shape    int    `db:"shape"`
	Server   string `db:"server_name"`
	Database string `db:"database_name"`
	// Values are in the order of the columns.
	Values []json.RawMessage `db:"row_values"`
}

// Error is a row of the view jobs.question_errors.
type Error struct {
	Message string `db:"message"`
	Class   string `db:"error_class"`
	Targets int    `db:"targets"`
	// Names are those of the first databases, as server/database.
	Names []string `db:"target_names"`
}

// Shapes returns the shapes of the answers to a question. There are none for whoever may
// not read them.
func (s Store) Shapes(ctx context.Context, id int64) ([]Shape, error) {
	return call.SelectAll[Shape](call.WithName(ctx), s.conn, "read the shapes of answers",
		"SELECT s.shape, s.result_set, s.columns FROM jobs.question_shapes AS s WHERE s.question_id = @p1 ORDER BY s.shape;", id)
}

// Rows returns at most limit rows of the answers to a question, after a row, in their
// order.
func (s Store) Rows(ctx context.Context, id int64, after, limit int) ([]Row, error) {
	return call.SelectAll[Row](call.WithName(ctx), s.conn, "read answers", `SELECT TOP (@p3) r.row_number, r.shape, r.server_name, r.database_name, r.row_values
FROM jobs.question_rows AS r
WHERE r.question_id = @p1 AND r.row_number > @p2
ORDER BY r.row_number;`, id, after, limit)
}

// Errors returns why databases have not answered, the error of the most databases first.
func (s Store) Errors(ctx context.Context, id int64) ([]Error, error) {
	return call.SelectAll[Error](call.WithName(ctx), s.conn, "read the errors of a question",
		"SELECT e.message, e.error_class, e.targets, e.target_names FROM jobs.question_errors AS e WHERE e.question_id = @p1 ORDER BY e.error_group;", id)
}

// Claimed is a question that an agent carries out.
type Claimed struct {
	ID              int64     `db:"question_id"`
	Group           uuid.UUID `db:"target_group_id"`
	Text            string    `db:"question"`
	Credential      string    `db:"credential_name"`
	MaxRows         int       `db:"max_rows"`
	MaxRowsOfTarget int       `db:"max_rows_of_target"` // 0: no limit of its own
	TimeoutSeconds  int       `db:"timeout_seconds"`
	// Paused are the databases that are not asked.
	Paused map[uuid.UUID]bool `db:"-"`
}

// Claim claims the oldest question that waits; nil means that none does.
func (s Store) Claim(ctx context.Context, term controldb.TermID) (*Claimed, error) {
	var found []Claimed
	var paused []uuid.UUID
	err := s.conn.Query(ctx, "claim a question", controldb.ForTerm(call.New("jobs_internal.claim_question"), term), call.Into(&found), call.Into(&paused))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	q := &found[0]
	q.Paused = make(map[uuid.UUID]bool, len(paused))
	for _, id := range paused {
		q.Paused[id] = true
	}
	return q, nil
}

// GroupMembers returns the members of the target group of a question. A group that was deleted has
// none.
func (s Store) GroupMembers(ctx context.Context, group uuid.UUID) ([]targets.Member, error) {
	return controldb.ReadMembers(ctx, s.conn, call.New("jobs_internal.get_members").In("task_id", nil).In("target_group_id", mssqldb.UniqueIdentifier(group)))
}

// AnswerVerdict says whether the agent may go on with a question.
type AnswerVerdict string

// The verdicts.
const (
	AnswersProceed  AnswerVerdict = "Proceed"
	AnswersCanceled AnswerVerdict = "Canceled" // somebody has canceled the question
	AnswersFull     AnswerVerdict = "Full"     // no more rows are kept
	AnswersBusy     AnswerVerdict = "Busy"     // nothing was recorded, and the call is to be repeated
	AnswersRefused  AnswerVerdict = "Refused"  // the term does not hold the question any more
)

// RecordedAnswers are what databases have answered since the last call, and counts since the
// beginning.
type RecordedAnswers struct {
	Question int64
	// Targets is the number of databases of the group; nil: it is not known yet.
	Targets *int
	// Answered, Failed and Paused are numbers of databases.
	Answered, Failed, Paused int
	Shapes                   []RecordedShape
	Rows                     []RecordedRow
	// Cut says that rows were left out because of a limit.
	Cut bool
	// Ended says that the question has ended, with Error if it failed as a whole, and the errors of
	// databases.
	Ended  bool
	Error  string
	Errors []RecordedError
}

// RecordedShape is a new shape of answers.
type RecordedShape struct {
	Shape     int      `json:"shape"`
	ResultSet int      `json:"result_set"`
	Columns   []Column `json:"columns"`
}

// RecordedRow is a row of an answer.
type RecordedRow struct {
	Number   int             `json:"row_number"`
	Shape    int             `json:"shape"`
	Server   string          `json:"server_name"`
	Database string          `json:"database_name"`
	Values   json.RawMessage `json:"row_values"`
}

// RecordedError is an error of databases.
type RecordedError struct {
	Message string   `json:"message"`
	Class   string   `json:"error_class"`
	Targets int      `json:"targets"`
	Names   []string `json:"target_names"`
}

// RecordAnswers records answers, and says whether the agent may go on. It returns
// [dberror.ErrTermEnded] when the term has ended.
func (s Store) RecordAnswers(ctx context.Context, term controldb.TermID, a RecordedAnswers) (verdict AnswerVerdict, err error) {
	c := controldb.ForTerm(call.New("jobs_internal.record_answers"), term).In("question_id", a.Question).
		In("answered", int64(a.Answered)).In("failed", int64(a.Failed)).In("paused", int64(a.Paused)).
		In("is_cut", a.Cut).In("is_ended", a.Ended).OptText("error", a.Error)
	call.Opt(c, "targets", a.Targets)
	for _, list := range []struct {
		name   string
		values any
		count  int
	}{{"shapes", a.Shapes, len(a.Shapes)}, {"rows", a.Rows, len(a.Rows)}, {"errors", a.Errors, len(a.Errors)}} {
		if list.count == 0 {
			continue
		}
		text, err := json.Marshal(list.values)
		if err != nil {
			return "", fmt.Errorf("record answers: %w", err)
		}
		c.In(list.name, string(text))
	}
	err = s.conn.Query(ctx, "record answers", c, call.ScanOne(&verdict))
	return verdict, err
}
