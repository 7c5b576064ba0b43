package live

import "embed"

// Files holds events.js, the module that receives events in browsers.
//
//go:embed events.js
var Files embed.FS
