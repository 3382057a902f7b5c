//go:build unix && !linux

package hubtest

// memoryDir returns "": files in memory are known of Linux only.
func memoryDir() string { return "" }
