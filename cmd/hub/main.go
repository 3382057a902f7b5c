// Command hub is the integration hub: the server, and the command line that talks
// to it.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], newApp(os.Stdin, os.Stdout, os.Stderr)))
}
