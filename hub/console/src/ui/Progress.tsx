import classes from "./Progress.module.css";
import layout from "./layout.module.css";

/** Progress is a panel with how far a job is: a bar, and a text that is announced. */
export function Progress({ title, done, total, text }: { title: string; done: number; total: number; text: string }) {
	return (
		<section className={`panel ${layout.section}`} aria-labelledby="progress">
			<h2 id="progress">{title}</h2>
			<progress className={classes.bar} max={Math.max(total, 1)} value={done} aria-labelledby="progress" />
			<p role="status">{text}</p>
		</section>
	);
}
