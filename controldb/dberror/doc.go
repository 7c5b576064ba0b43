// Package dberror says what an error of the control database means. Each error number that our
// T-SQL throws has a kind and, where callers distinguish the condition, a sentinel. The driver's
// error stays in the chain, and no error contains a secret.
package dberror
