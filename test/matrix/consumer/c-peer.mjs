// A program of a user whose peer is written in C: `listen PATH` sends each message back, `connect PATH` asks.
import { connect, listen } from 'crossings';

const [role, path] = process.argv.slice(2);
if (role === 'listen') {
  const server = await listen(path);
  const channel = await server.accept();
  for await (const message of channel) await channel.send(message);
  await channel.close();
  await server.close();
} else {
  const channel = await connect(path);
  await channel.send('a message');
  console.log(String(await channel.receive()));
  await channel.close();
}
