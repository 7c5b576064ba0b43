// Package security reads statements about principals, keys and permissions.
package security
