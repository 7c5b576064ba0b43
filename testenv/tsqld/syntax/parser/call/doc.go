// Package call reads EXECUTE of modules and texts.
package call
