// Package azurescheduler is the dialect of Azure Scheduler: the recurrence object.
package azurescheduler
