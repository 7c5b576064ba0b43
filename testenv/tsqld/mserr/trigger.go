package mserr

// Errors of triggers and of views with WITH CHECK OPTION.
var (
	// TransitionTarget: a statement changes inserted or deleted.
	TransitionTarget = of[func() *Error](286)
	// TransitionLOB: an AFTER trigger reads a column of type text, ntext or image.
	TransitionLOB = of[func() *Error](311)
	// UpdateOutsideTrigger: UPDATE() outside a trigger.
	UpdateOutsideTrigger = of[func() *Error](140)
	// UpdateOfComputed: UPDATE() of a computed column.
	UpdateOfComputed = of[func(column string) *Error](2114)
	// OutputTargetTriggers: OUTPUT without INTO on a target with enabled triggers.
	OutputTargetTriggers = of[func(target string) *Error](334)
	// OutputIntoTriggers: the target of OUTPUT INTO has enabled triggers.
	OutputIntoTriggers = of[func(target string) *Error](331)
	// EndedInTrigger: a trigger has ended the transaction.
	EndedInTrigger = of[func() *Error](3609)
	// RaisedInTrigger: a trigger has caught an error that dooms the transaction.
	RaisedInTrigger = of[func() *Error](3616)
	// SecondInstead: a second INSTEAD OF trigger for an event. kind is table or view.
	SecondInstead = of[func(trigger, kind, object, event string) *Error](2111)
	// InsteadOfCascade: an INSTEAD OF trigger on a table with a cascading foreign key.
	InsteadOfCascade = of[func(trigger, table string) *Error](2113)
	// CascadeWithInsteadOf: a cascading foreign key of a table with an INSTEAD OF trigger.
	CascadeWithInsteadOf = of[func(constraint, table string) *Error](1787)
	// InsteadOfCheckOption: an INSTEAD OF trigger on a view with WITH CHECK OPTION.
	InsteadOfCheckOption = of[func(trigger, view string) *Error](2112)
	// TriggerSchema: the schema of a trigger is not that of its table.
	TriggerSchema = of[func(verb, trigger string) *Error](2103)
	// TriggerDatabase: the table of a trigger is in another database.
	TriggerDatabase = of[func(table string) *Error](2108)
	// TriggerOfAnother: ALTER TRIGGER names another table.
	TriggerOfAnother = of[func(trigger, object string) *Error](2110)
	// MergeInstead: the target of MERGE has INSTEAD OF triggers for some actions only.
	MergeInstead = of[func(target string) *Error](5316)
	// RepeatedTriggerAction: an event is named twice.
	RepeatedTriggerAction = of[func(event string) *Error](1034)
	// NoTrigger: of sp_settriggerorder.
	NoTrigger = of[func(name string) *Error](15165)
	// TriggerOrderEvent: the trigger does not have the event.
	TriggerOrderEvent = of[func(trigger, event string) *Error](15125)
	// TriggerOrderInstead: an INSTEAD OF trigger has no order.
	TriggerOrderInstead = of[func(trigger string) *Error](15133)
	// TriggerOrderTaken: another trigger is first or last.
	TriggerOrderTaken = of[func(order, event string) *Error](15130)
	// CheckOptionViolated: a new row is outside a view with WITH CHECK OPTION.
	CheckOptionViolated = of[func() *Error](550)
	// CheckOptionTop: a view with WITH CHECK OPTION and TOP is changed.
	CheckOptionTop = of[func(view string) *Error](4427)
	// CheckOptionNotUpdatable: WITH CHECK OPTION of a view that cannot be updated.
	CheckOptionNotUpdatable = of[func() *Error](4510)
)

// InsteadOfInJoin is error 414 or 415: UPDATE or DELETE of a view that has an INSTEAD OF trigger
// and is joined with other tables.
func InsteadOfInJoin(event, view string) *Error {
	if event == "UPDATE" {
		return Of(414, event, view, event)
	}
	return Of(415, event, view, event)
}
