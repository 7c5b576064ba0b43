package elastic

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/questions"
)

// Questions to target groups are an extension: Elastic Jobs has none. The name of a question is its
// number.

const (
	typeQuestion = "Microsoft.Sql/servers/jobAgents/questions"
	questionPath = agentPath + "/questions"
)

// questionInput is the body of POST question.
type questionInput struct {
	_          struct{} `body:"closed"`
	Properties struct {
		_                struct{} `body:"closed"`
		TargetGroupName  string   `json:"targetGroupName" body:"required"`
		Question         string   `json:"question" body:"required"`
		CredentialName   string   `json:"credentialName"`
		MaxRows          *int     `json:"maxRows"`
		MaxRowsPerTarget *int     `json:"maxRowsPerTarget"`
		TimeoutSeconds   *int     `json:"timeoutSeconds"`
	} `json:"properties" body:"required"`
}

// questionView is a question in an answer. Shapes and errors are not in lists.
type questionView struct {
	envelope
	Properties struct {
		TargetGroupName   string          `json:"targetGroupName"`
		Question          string          `json:"question,omitempty"`
		CredentialName    string          `json:"credentialName,omitempty"`
		MaxRows           int             `json:"maxRows"`
		MaxRowsPerTarget  int             `json:"maxRowsPerTarget,omitempty"`
		TimeoutSeconds    int             `json:"timeoutSeconds"`
		Lifecycle         string          `json:"lifecycle" enum:"Created InProgress Succeeded Failed Canceled"`
		IsReadable        bool            `json:"isReadable"`
		CreateTime        *timestamp      `json:"createTime,omitempty"`
		AskedBy           string          `json:"askedBy"`
		StartTime         *timestamp      `json:"startTime,omitempty"`
		EndTime           *timestamp      `json:"endTime,omitempty"`
		CancelRequestTime *timestamp      `json:"cancelRequestTime,omitempty"`
		CanceledBy        string          `json:"canceledBy,omitempty"`
		Message           string          `json:"message,omitempty"`
		Targets           *int            `json:"targets,omitempty"`
		Answered          int             `json:"answered"`
		Failed            int             `json:"failed"`
		Paused            int             `json:"paused"`
		RowCount          int             `json:"rowCount"`
		IsCut             bool            `json:"isCut"`
		ExpireTime        *timestamp      `json:"expireTime,omitempty"`
		Shapes            []questionShape `json:"shapes,omitempty"`
		Errors            []questionError `json:"errors,omitempty"`
	} `json:"properties"`
}

// questionShape is a shape of answers: the rows of one number have the same columns.
type questionShape struct {
	Shape     int              `json:"shape"`
	ResultSet int              `json:"resultSet"`
	Columns   []questionColumn `json:"columns"`
}

type questionColumn struct {
	Name string `json:"name"`
	Kind string `json:"kind" enum:"number bit text time bytes"`
}

// questionError is an error of databases.
type questionError struct {
	Message     string   `json:"message"`
	Targets     int      `json:"targets"`
	TargetNames []string `json:"targetNames"`
}

// questionRow is a row of an answer.
type questionRow struct {
	RowNumber    int               `json:"rowNumber"`
	Shape        int               `json:"shape"`
	ServerName   string            `json:"serverName"`
	DatabaseName string            `json:"databaseName"`
	Values       []json.RawMessage `json:"values"` // in the order of the columns
}

func (s *Surface) questionOperations() []rest.Operation {
	question := reflect.TypeFor[questionView]()
	return []rest.Operation{
		s.change(http.MethodPost, "JobQuestions_Create", questionPath, rest.RoleOperator, (*place).askQuestion,
			"Asks the databases of a target group a question in T-SQL. An agent asks them; nothing is changed.", reflect.TypeFor[questionInput](), question),
		s.get("JobQuestions_ListByAgent", questionPath, (*place).listQuestions,
			"Lists the questions that are kept, the latest first.", reflect.TypeFor[list[questionView]](), pageParameters...),
		s.get("JobQuestions_Get", questionPath+"/{question}", (*place).getQuestion, "Gets a question, with the shapes of its answers and its errors.", question),
		s.get("JobQuestionRows_ListByQuestion", questionPath+"/{question}/rows", (*place).listAnswers,
			"Lists the rows of the answers. Only who asked and administrators get any.", reflect.TypeFor[list[questionRow]](), pageParameters...),
		s.change(http.MethodPost, "JobQuestions_Cancel", questionPath+"/{question}/cancel", rest.RoleOperator, (*place).cancelQuestion,
			"Cancels a question: its queries on the servers are canceled.", nil, question),
	}
}

// questionView describes a question.
func (at *place) questionView(q questions.Question) questionView {
	name := strconv.FormatInt(q.ID, 10)
	v := questionView{envelope: envelope{ID: at.id("questions", name), Name: name, Type: typeQuestion}}
	to := &v.Properties
	to.TargetGroupName, to.Question, to.CredentialName = q.TargetGroup, q.Text, q.Credential
	to.MaxRows, to.MaxRowsPerTarget, to.TimeoutSeconds = q.MaxRows, q.MaxRowsOfTarget, q.TimeoutSeconds
	to.Lifecycle, to.IsReadable, to.AskedBy, to.Message = string(q.Lifecycle), q.Readable, q.AskedBy, q.Message
	to.CreateTime, to.StartTime, to.EndTime, to.ExpireTime = instant(q.Asked), instant(q.Start), instant(q.End), instant(q.Expires)
	to.CancelRequestTime, to.CanceledBy = instant(q.CancelRequested), q.CanceledBy
	to.Targets, to.Answered, to.Failed, to.Paused, to.RowCount, to.IsCut = q.Targets, q.Answered, q.Failed, q.Paused, q.Rows, q.Cut
	return v
}

func (at *place) askQuestion(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	var in questionInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	p := in.Properties
	id, err := questions.On(at.store).Ask(ctx, questions.Spec{
		TargetGroup: p.TargetGroupName, Text: p.Question, Credential: p.CredentialName,
		MaxRows: p.MaxRows, MaxRowsOfTarget: p.MaxRowsPerTarget, TimeoutSeconds: p.TimeoutSeconds,
	})
	if err != nil {
		return nil, err
	}
	return at.answerQuestion(ctx, id)
}

// question returns the number that a path names.
func (at *place) question(r *rest.Request) (int64, error) {
	id, err := strconv.ParseInt(r.Path["question"], 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != r.Path["question"] {
		return 0, notFound(typeQuestion, r.Path["question"])
	}
	return id, nil
}

func (at *place) answerQuestion(ctx context.Context, id int64) (*rest.Response, error) {
	missing := func(err error) error {
		return orNotFound(err, dberror.ErrQuestionNotFound, typeQuestion, strconv.FormatInt(id, 10))
	}
	q, err := questions.On(at.store).Get(ctx, id)
	if err != nil {
		return nil, missing(err)
	}
	v := at.questionView(q)
	shapes, err := questions.On(at.store).Shapes(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, one := range shapes {
		shape := questionShape{Shape: one.Shape, ResultSet: one.ResultSet}
		for _, c := range one.Columns {
			shape.Columns = append(shape.Columns, questionColumn(c))
		}
		v.Properties.Shapes = append(v.Properties.Shapes, shape)
	}
	errs, err := questions.On(at.store).Errors(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, one := range errs {
		v.Properties.Errors = append(v.Properties.Errors, questionError{Message: one.Message, Targets: one.Targets, TargetNames: one.Names})
	}
	return &rest.Response{Status: http.StatusOK, Body: v}, nil
}

func (at *place) getQuestion(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	id, err := at.question(r)
	if err != nil {
		return nil, err
	}
	return at.answerQuestion(ctx, id)
}

func (at *place) cancelQuestion(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	id, err := at.question(r)
	if err != nil {
		return nil, err
	}
	if err := questions.On(at.store).Cancel(ctx, id); err != nil {
		return nil, orNotFound(err, dberror.ErrQuestionNotFound, typeQuestion, r.Path["question"])
	}
	return at.answerQuestion(ctx, id)
}

func (at *place) listQuestions(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	p, err := readPage[int64](r, at.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	rows, err := questions.On(at.store).Questions(ctx, maxTop) // those that are kept: hardly more than a hundred
	if err != nil {
		return nil, err
	}
	if p.key != nil {
		rows = slices.DeleteFunc(rows, func(q questions.Question) bool { return q.ID >= *p.key })
	}
	rows = rows[min(int64(len(rows)), p.skip):]
	key := func(q questions.Question) int64 { return q.ID }
	return &rest.Response{Status: http.StatusOK, Body: result(p, rows[:min(len(rows), p.size+1)], at, r, at.id("questions"), key, at.questionView)}, nil
}

func (at *place) listAnswers(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	id, err := at.question(r)
	if err != nil {
		return nil, err
	}
	if _, err := questions.On(at.store).Get(ctx, id); err != nil {
		return nil, orNotFound(err, dberror.ErrQuestionNotFound, typeQuestion, r.Path["question"])
	}
	p, err := readPage[int](r, at.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	after := int(min(p.skip, 1<<30)) // rows are numbered from 1
	if p.key != nil {
		after += *p.key
	}
	rows, err := questions.On(at.store).Rows(ctx, id, after, p.size+1)
	if err != nil {
		return nil, err
	}
	view := func(one questions.Row) questionRow {
		return questionRow{one.Number, one.Shape, one.Server, one.Database, one.Values}
	}
	place := at.id("questions", strconv.FormatInt(id, 10), "rows")
	return &rest.Response{Status: http.StatusOK, Body: result(p, rows, at, r, place, func(one questions.Row) int { return one.Number }, view)}, nil
}
