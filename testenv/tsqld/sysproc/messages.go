package sysproc

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// messageProcedures return the procedures for the messages of users.
func messageProcedures() []*Procedure {
	return []*Procedure{
		native("sp_addmessage", "@msgnum int = NULL, @severity smallint = NULL, @msgtext nvarchar(255) = NULL, @lang sysname = NULL, "+
			"@with_log varchar(5) = NULL, @replace varchar(7) = NULL", (*Executor).addMessage),
		native("sp_dropmessage", "@msgnum int = NULL, @lang sysname = NULL", (*Executor).dropMessage),
		native("sp_altermessage", "@message_id int, @parameter sysname, @parameter_value varchar(5)", (*Executor).alterMessage),
	}
}

// addMessage executes sp_addmessage. Errors: 15040 and 15041 for the number and the severity, 15043
// for a message that exists.
func (r *Executor) addMessage(a Arguments) (int32, error) {
	id, _ := a["msgnum"].(int64)
	severity, _ := a["severity"].(int64)
	_, exists := r.s.Server.Messages.Find(id)
	switch {
	case !r.s.Sysadmin():
		return 1, mserr.ActionPermission()
	case a["msgnum"] == nil || a["severity"] == nil || a["msgtext"] == nil:
		return 1, mserr.Of(15071)
	case id <= 50000:
		return 1, mserr.Of(15040)
	case severity < 1 || severity > 25:
		return 1, mserr.Of(15041)
	case exists && !strings.EqualFold(a.text("replace"), "replace"):
		return 1, mserr.Of(15043)
	}
	if err := onlyEnglish(a.text("lang")); err != nil {
		return 1, err
	}
	r.s.Server.Messages.Put(catalog.Message{
		ID: id, Severity: severity, Text: a.text("msgtext"), Logged: strings.EqualFold(a.text("with_log"), "true"),
	})
	return 0, nil
}

// onlyEnglish refuses the messages of other languages.
func onlyEnglish(language string) error {
	switch strings.ToLower(language) {
	case "", "all", "us_english", "english":
		return nil
	}
	return mserr.NotSupported("sp_addmessage in another language than us_english")
}

// dropMessage executes sp_dropmessage. Error 15179 for an unknown message.
func (r *Executor) dropMessage(a Arguments) (int32, error) {
	id, _ := a["msgnum"].(int64)
	if !r.s.Sysadmin() {
		return 1, mserr.ActionPermission()
	}
	if err := onlyEnglish(a.text("lang")); err != nil {
		return 1, err
	}
	if !r.s.Server.Messages.Drop(id) {
		return 1, unknownMessage(id)
	}
	return 0, nil
}

func unknownMessage(id int64) error {
	return mserr.Of(15179, id)
}

// alterMessage executes sp_altermessage: it changes whether a message is logged, which has no
// effect.
func (r *Executor) alterMessage(a Arguments) (int32, error) {
	id, _ := a["message_id"].(int64)
	d, ok := r.s.Server.Messages.Find(id)
	value := strings.ToLower(a.text("parameter_value"))
	switch {
	case !r.s.Sysadmin():
		return 1, mserr.ActionPermission()
	case !ok:
		return 1, unknownMessage(id)
	case !strings.EqualFold(a.text("parameter"), "WITH_LOG") || value != "true" && value != "false":
		return 1, mserr.InvalidProcArgument("sp_altermessage")
	}
	d.Logged = value == "true"
	r.s.Server.Messages.Put(d)
	return 0, nil
}
