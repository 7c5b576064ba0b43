// Package sqlfs embeds the control database as source, one object a file.
//
// Vocabulary. State (schemas and tables, folder schema) is changed by migrations. Code (views,
// procedures and roles) is replaced as a whole when its text has changed. install.txt lists all
// files in the order of a fresh install. Each file is one batch without GO. See DESIGN.md for the
// tables, the lifecycles and the order of locks.
//
// Common mistakes: taking the comment block at the beginning of a file for free text. It is
// reference documentation in a fixed form, which [Describe] reads and tests check.
package sqlfs
