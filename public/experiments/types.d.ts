// The types of the experiments' pages; each experiment's schema in lib/experiments/ has the members of its file.
type Verdict = 'held' | 'partly' | 'failed' | 'unknown';
interface Interval {
  median: number;
  low: number;
  high: number;
}
/** What the server says of an experiment. */
interface AboutExperiment {
  name: string;
  title: string;
  source: string;
  claim: string;
  question: string;
  /** The options and their values; the first is the default. */
  choices: Record<string, string[]>;
  command: string;
  /** The choice that the command takes as an argument, not as an option. */
  argument: string | null;
}
/** The file of an experiment; each has more members. */
interface ExperimentFile {
  schema: string;
  id: string;
  startedAt: string;
  tool: { version: string };
  environment: Record<string, any> & { warnings: string[]; clock: { source: string; overheadNs: number } };
  parameters: Record<string, any>;
  sentences: string[];
  verdict: Verdict;
  [member: string]: any;
}
interface ExperimentLine {
  id: string;
  kind: string;
  startedAt: string;
  state: 'running' | 'done' | 'failed' | 'cancelled';
  parameters: Record<string, any>;
  verdict: Verdict | null;
}
interface ExperimentAnswer extends ExperimentLine {
  progress: { fraction: number; doing: string };
  run: ExperimentFile | null;
  partial: ExperimentFile | null;
  error: { code: string; message: string } | null;
}
/** How one experiment is shown. */
interface View {
  /** Names of choices and of their values, where the option's own are not plain. */
  choices?: Record<string, { legend: string; values?: Record<string, string> }>;
  /** The sentences that no figure of the view shows; all of them if absent. */
  sentences?(file: any): string[];
  /** Fills the area once; returns what shows a file, finished or in progress, there. */
  build(area: HTMLElement): (file: any, live: boolean) => void;
}
