// Package wording has the small parts of a text for people, which every door (T-SQL's callers, CLI,
// REST, dashboard, files) shares: a text of a limited length, and counted nouns.
package wording
