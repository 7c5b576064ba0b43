package actions

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/questions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
)

const (
	// shownGroups is how many target groups a list to choose from has; if there are more, the name
	// is typed.
	shownGroups = 300
	// maxQuestion bounds the text of a question, in UTF-16 code units.
	maxQuestion = 100_000
	// nullNumber stands for a text that is not a number; each range excludes it.
	nullNumber = -1
)

// questionOf returns the question that was typed, or a repeated one, or the defaults.
func questionOf(ctx context.Context, r *page.Request) (questions.Spec, error) {
	limits := [3]string{"1000", "", "30"}
	q := questions.Spec{TargetGroup: r.Query("group")}
	if r.Form != nil {
		limits = [3]string{value(r, "max_rows"), value(r, "max_rows_of_target"), value(r, "timeout_seconds")}
		q = questions.Spec{TargetGroup: value(r, "target_group"), Text: value(r, "question"), Credential: value(r, "credential")}
	} else if id, err := strconv.ParseInt(r.Query("like"), 10, 64); err == nil {
		like, err := questions.On(r.Store).Get(ctx, id)
		if err != nil {
			return q, err
		}
		q = questions.Spec{TargetGroup: like.TargetGroup, Text: like.Text, Credential: like.Credential}
		limits = [3]string{strconv.Itoa(like.MaxRows), "", strconv.Itoa(like.TimeoutSeconds)}
		if like.MaxRowsOfTarget > 0 {
			limits[1] = strconv.Itoa(like.MaxRowsOfTarget)
		}
	}
	for i, to := range []**int{&q.MaxRows, &q.MaxRowsOfTarget, &q.TimeoutSeconds} {
		if limits[i] == "" {
			continue
		}
		n, err := strconv.Atoi(limits[i])
		if err != nil {
			n = nullNumber
		}
		*to = &n
	}
	return q, nil
}

// shownLimit returns the text of a limit.
func shownLimit(n *int) string {
	if n == nil || *n == nullNumber {
		return ""
	}
	return strconv.Itoa(*n)
}

// confirmAsk shows the form of a question.
func confirmAsk(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	q, err := questionOf(ctx, r)
	if err != nil {
		return nil, err
	}
	group := page.Field{Name: "target_group", Label: "Target group", Required: true, MaxLength: 128, Value: q.TargetGroup}
	groups, err := targetgroups.On(r.Store).Find(ctx, "", controldb.Page[string]{Top: shownGroups + 1})
	if err != nil {
		return nil, err
	}
	if len(groups) <= shownGroups {
		group.Kind = "select"
		for _, g := range groups {
			group.Options = append(group.Options, page.Option{Value: g.Name, Text: g.Name})
		}
	}
	c := &page.Confirmation{
		Title: "Ask a question", Nav: "questions", Button: "Ask", Back: r.Path("questions"),
		Effects: []string{
			"An agent asks the databases of the group as they are now, and brings the rows back. Paused databases are not asked.",
			"Nothing is changed: the text runs in a transaction that is rolled back, and what cannot be rolled back is not sent.",
			"The audit log has your name, the group and the text.",
		},
		Fields: []page.Field{
			group,
			{Name: "question", Label: "Question in T-SQL", Kind: "textarea", Required: true, MaxLength: maxQuestion, Value: q.Text, Help: "GO separates batches."},
			{Name: "credential", Label: "Credential", MaxLength: 128, Value: q.Credential, Help: "Empty: the default of the agents."},
			{Name: "max_rows", Label: "Most rows of all databases", Kind: "number", Required: true, Value: shownLimit(q.MaxRows), Help: "1 to 10,000."},
			{Name: "max_rows_of_target", Label: "Most rows of one database", Kind: "number", Value: shownLimit(q.MaxRowsOfTarget), Help: "1 to 10,000. Empty: no limit of its own."},
			{Name: "timeout_seconds", Label: "Seconds for one database", Kind: "number", Required: true, Value: shownLimit(q.TimeoutSeconds), Help: "1 to 600."},
		},
	}
	if q.TargetGroup != "" && q.Text != "" {
		c.Equivalents = commands(page.CLI("query", "--target-group", q.TargetGroup, q.Text), page.TSQL("jobs.sp_ask_question",
			page.Arg{Name: "target_group_name", Value: q.TargetGroup}, page.Arg{Name: "question", Value: q.Text}))
	}
	return c, nil
}

// ask asks a question.
func ask(ctx context.Context, r *page.Request) (*page.Done, error) {
	q, err := questionOf(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, limit := range []struct {
		field string
		value *int
		most  int
		empty bool
	}{{"max_rows", q.MaxRows, 10_000, false}, {"max_rows_of_target", q.MaxRowsOfTarget, 10_000, true}, {"timeout_seconds", q.TimeoutSeconds, 600, false}} {
		if limit.value == nil && limit.empty {
			continue
		}
		if limit.value == nil || *limit.value < 1 || *limit.value > limit.most {
			return nil, &page.InputError{Field: limit.field, Problem: fmt.Sprintf("Want a number from 1 to %s.", page.Grouped(limit.most))}
		}
	}
	id, err := questions.On(r.Store).Ask(ctx, q)
	if err != nil {
		err = refuse(refuse(err, "target_group", 50012, 50106), "question", 50423)
		return nil, refuse(refuse(err, "credential", 50097), "", 50422, 50425)
	}
	return &page.Done{Location: r.Path("questions", strconv.FormatInt(id, 10)), Notice: "The question was asked."}, nil
}

// confirmCancelQuestion says what canceling a question does.
func confirmCancelQuestion(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	id, ok := number(r, "question")
	if !ok {
		return nil, dberror.ErrQuestionNotFound
	}
	q, err := questions.On(r.Store).Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state := ""
	if !q.Active {
		state = "It has ended already, so nothing happens."
	}
	return &page.Confirmation{
		Title: "Cancel the question", Nav: "questions", Button: "Cancel the question", Danger: true, Back: r.Path("questions", strconv.FormatInt(id, 10)),
		Effects: sentences(
			fmt.Sprintf("Cancels the queries of question %d to %s on the servers. What has come so far stays.", id, quoted(q.TargetGroup)),
			"Asked by "+q.AskedBy+".", state,
		),
		Equivalents: []page.Equivalent{page.TSQL("jobs.sp_cancel_question", page.Arg{Name: "question_id", Value: id})},
	}, nil
}

func cancelQuestion(ctx context.Context, r *page.Request) (*page.Done, error) {
	id, ok := number(r, "question")
	if !ok {
		return nil, dberror.ErrQuestionNotFound
	}
	if err := questions.On(r.Store).Cancel(ctx, id); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("questions", strconv.FormatInt(id, 10)), Notice: "The question is being canceled."}, nil
}
