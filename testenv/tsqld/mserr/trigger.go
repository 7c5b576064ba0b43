package mserr

// TransitionTarget is error 286: a statement changes inserted or deleted.
func TransitionTarget() *Error { return Of(286) }

// TransitionLOB is error 311: an AFTER trigger reads a column of type text, ntext or image.
func TransitionLOB() *Error { return Of(311) }

// UpdateOutsideTrigger is error 140: UPDATE() outside a trigger.
func UpdateOutsideTrigger() *Error { return Of(140) }

// UpdateOfComputed is error 2114: UPDATE() of a computed column.
func UpdateOfComputed(column string) *Error { return Of(2114, column) }

// OutputTargetTriggers is error 334: OUTPUT without INTO on a target with enabled triggers.
func OutputTargetTriggers(target string) *Error { return Of(334, target) }

// OutputIntoTriggers is error 331: the target of OUTPUT INTO has enabled triggers.
func OutputIntoTriggers(target string) *Error { return Of(331, target) }

// EndedInTrigger is error 3609: a trigger has ended the transaction.
func EndedInTrigger() *Error { return Of(3609) }

// RaisedInTrigger is error 3616: a trigger has caught an error that dooms the transaction.
func RaisedInTrigger() *Error { return Of(3616) }

// SecondInstead is error 2111: a second INSTEAD OF trigger for an event. kind is table or view.
func SecondInstead(trigger, kind, object, event string) *Error {
	return Of(2111, trigger, kind, object, event)
}

// InsteadOfCascade is error 2113: an INSTEAD OF trigger on a table with a cascading foreign key.
func InsteadOfCascade(trigger, table string) *Error { return Of(2113, trigger, table) }

// CascadeWithInsteadOf is error 1787: a cascading foreign key of a table with an INSTEAD OF
// trigger.
func CascadeWithInsteadOf(constraint, table string) *Error { return Of(1787, constraint, table) }

// InsteadOfCheckOption is error 2112: an INSTEAD OF trigger on a view with WITH CHECK OPTION.
func InsteadOfCheckOption(trigger, view string) *Error { return Of(2112, trigger, view) }

// TriggerSchema is error 2103: the schema of a trigger is not that of its table.
func TriggerSchema(verb, trigger string) *Error { return Of(2103, verb, trigger) }

// TriggerDatabase is error 2108: the table of a trigger is in another database.
func TriggerDatabase(table string) *Error { return Of(2108, table) }

// TriggerOfAnother is error 2110: ALTER TRIGGER names another table.
func TriggerOfAnother(trigger, object string) *Error { return Of(2110, trigger, object) }

// InsteadOfInJoin is error 414 or 415: UPDATE or DELETE of a view that has an INSTEAD OF trigger
// and is joined with other tables.
func InsteadOfInJoin(event, view string) *Error {
	if event == "UPDATE" {
		return Of(414, event, view, event)
	}
	return Of(415, event, view, event)
}

// MergeInstead is error 5316: the target of MERGE has INSTEAD OF triggers for some actions only.
func MergeInstead(target string) *Error { return Of(5316, target) }

// RepeatedTriggerAction is error 1034: an event is named twice.
func RepeatedTriggerAction(event string) *Error { return Of(1034, event) }

// NoTrigger is error 15165 of sp_settriggerorder.
func NoTrigger(name string) *Error { return Of(15165, name) }

// TriggerOrderEvent is error 15125: the trigger does not have the event.
func TriggerOrderEvent(trigger, event string) *Error { return Of(15125, trigger, event) }

// TriggerOrderInstead is error 15133: an INSTEAD OF trigger has no order.
func TriggerOrderInstead(trigger string) *Error { return Of(15133, trigger) }

// TriggerOrderTaken is error 15130: another trigger is first or last.
func TriggerOrderTaken(order, event string) *Error { return Of(15130, order, event) }

// CheckOptionViolated is error 550: a new row is outside a view with WITH CHECK OPTION.
func CheckOptionViolated() *Error { return Of(550) }

// CheckOptionTop is error 4427: a view with WITH CHECK OPTION and TOP is changed.
func CheckOptionTop(view string) *Error { return Of(4427, view) }

// CheckOptionNotUpdatable is error 4510: WITH CHECK OPTION of a view that cannot be updated.
func CheckOptionNotUpdatable() *Error { return Of(4510) }
