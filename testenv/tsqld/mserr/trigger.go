package mserr

// TransitionTarget is error 286: a statement changes inserted or deleted.
func TransitionTarget() *Error {
	return New(286, 16, "The logical tables INSERTED and DELETED cannot be updated.")
}

// TransitionLOB is error 311: an AFTER trigger reads a column of type text, ntext or image.
func TransitionLOB() *Error {
	return New(311, 16, "Cannot use text, ntext, or image columns in the 'inserted' and 'deleted' tables.")
}

// UpdateOutsideTrigger is error 140: UPDATE() outside a trigger.
func UpdateOutsideTrigger() *Error {
	return New(140, 15, "Can only use IF UPDATE within a CREATE TRIGGER statement.")
}

// UpdateOfComputed is error 2114: UPDATE() of a computed column.
func UpdateOfComputed(column string) *Error {
	return New(2114, 16, "Column '%s' cannot be used in an IF UPDATE clause because it is a computed column.", column)
}

// OutputTargetTriggers is error 334: OUTPUT without INTO on a target with enabled triggers.
func OutputTargetTriggers(target string) *Error {
	return New(334, 16,
		"The target table '%s' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.",
		target)
}

// OutputIntoTriggers is error 331: the target of OUTPUT INTO has enabled triggers.
func OutputIntoTriggers(target string) *Error {
	return New(331, 16, "The target table '%s' of the OUTPUT INTO clause cannot have any enabled triggers.", target)
}

// EndedInTrigger is error 3609: a trigger has ended the transaction.
func EndedInTrigger() *Error {
	return New(3609, 16, "The transaction ended in the trigger. The batch has been aborted.")
}

// RaisedInTrigger is error 3616: a trigger has caught an error that dooms the transaction.
func RaisedInTrigger() *Error {
	return New(3616, 16,
		"An error was raised during trigger execution. The batch has been aborted and the user transaction, if any, has been rolled back.")
}

// SecondInstead is error 2111: a second INSTEAD OF trigger for an event. kind is table or view.
func SecondInstead(trigger, kind, object, event string) *Error {
	return New(2111, 16,
		"Cannot create trigger '%s' on %s '%s' because an INSTEAD OF %s trigger already exists on this object.",
		trigger, kind, object, event)
}

// InsteadOfCascade is error 2113: an INSTEAD OF trigger on a table with a cascading foreign key.
func InsteadOfCascade(trigger, table string) *Error {
	return New(2113, 16,
		"Cannot create INSTEAD OF DELETE or INSTEAD OF UPDATE TRIGGER '%s' on table '%s'. This is because the table has a FOREIGN KEY with cascading DELETE or UPDATE.",
		trigger, table)
}

// CascadeWithInsteadOf is error 1787: a cascading foreign key of a table with an INSTEAD OF
// trigger.
func CascadeWithInsteadOf(constraint, table string) *Error {
	return New(1787, 16,
		"Cannot define foreign key constraint '%s' with cascaded DELETE or UPDATE on table '%s' because the table has an INSTEAD OF DELETE or UPDATE TRIGGER defined on it.",
		constraint, table)
}

// InsteadOfCheckOption is error 2112: an INSTEAD OF trigger on a view with WITH CHECK OPTION.
func InsteadOfCheckOption(trigger, view string) *Error {
	return New(2112, 16,
		"Cannot create trigger '%s' on view '%s' because the view is defined with CHECK OPTION.", trigger, view)
}

// TriggerSchema is error 2103: the schema of a trigger is not that of its table.
func TriggerSchema(verb, trigger string) *Error {
	return New(2103, 15,
		"Cannot %s trigger '%s' because its schema is different from the schema of the target table or view.", verb, trigger)
}

// TriggerDatabase is error 2108: the table of a trigger is in another database.
func TriggerDatabase(table string) *Error {
	return New(2108, 15,
		"Cannot create trigger on '%s' as the target is not in the current database.", table)
}

// TriggerOfAnother is error 2110: ALTER TRIGGER names another table.
func TriggerOfAnother(trigger, object string) *Error {
	return New(2110, 15,
		"Cannot alter trigger '%s' on '%s' because this trigger does not belong to this object. Specify the correct trigger name or the correct target object name.",
		trigger, object)
}

// InsteadOfInJoin is error 414 or 415: UPDATE or DELETE of a view that has an INSTEAD OF trigger
// and is joined with other tables.
func InsteadOfInJoin(event, view string) *Error {
	number := map[string]int32{"UPDATE": 414, "DELETE": 415}[event]
	return New(number, 16,
		"%s is not allowed because the statement updates view \"%s\" which participates in a join and has an INSTEAD OF %s trigger.",
		event, view, event)
}

// MergeInstead is error 5316: the target of MERGE has INSTEAD OF triggers for some actions only.
func MergeInstead(target string) *Error {
	return New(5316, 16,
		"The target '%s' of the MERGE statement has an INSTEAD OF trigger on some, but not all, of the actions specified in the MERGE statement. In a MERGE statement, if any action has an enabled INSTEAD OF trigger on the target, then all actions must have enabled INSTEAD OF triggers.",
		target)
}

// RepeatedTriggerAction is error 1034: an event is named twice.
func RepeatedTriggerAction(event string) *Error {
	return New(1034, 15, "Syntax error: Duplicate specification of the action \"%s\" in the trigger declaration.", event)
}

// NoTrigger is error 15165 of sp_settriggerorder.
func NoTrigger(name string) *Error {
	return New(15165, 16, "Could not find object '%s' or you do not have permission.", name)
}

// TriggerOrderEvent is error 15125: the trigger does not have the event.
func TriggerOrderEvent(trigger, event string) *Error {
	return New(15125, 16, "Trigger '%s' is not a trigger for '%s'.", trigger, event)
}

// TriggerOrderInstead is error 15133: an INSTEAD OF trigger has no order.
func TriggerOrderInstead(trigger string) *Error {
	return New(15133, 16, "INSTEAD OF trigger '%s' cannot be associated with an order.", trigger)
}

// TriggerOrderTaken is error 15130: another trigger is first or last.
func TriggerOrderTaken(order, event string) *Error {
	return New(15130, 16, "There already exists a '%s' trigger for '%s'.", order, event)
}

// CheckOptionViolated is error 550: a new row is outside a view with WITH CHECK OPTION.
func CheckOptionViolated() *Error {
	return New(550, 16,
		"The attempted insert or update failed because the target view either specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows resulting from the operation did not qualify under the CHECK OPTION constraint.")
}

// CheckOptionTop is error 4427: a view with WITH CHECK OPTION and TOP is changed.
func CheckOptionTop(view string) *Error {
	return New(4427, 16,
		"Cannot update the view \"%s\" because it or a view it references was created with WITH CHECK OPTION and its definition contains a TOP or OFFSET clause.",
		view)
}

// CheckOptionNotUpdatable is error 4510: WITH CHECK OPTION of a view that cannot be updated.
func CheckOptionNotUpdatable() *Error {
	return New(4510, 16, "Could not perform CREATE VIEW because WITH CHECK OPTION was specified and the view is not updatable.")
}
